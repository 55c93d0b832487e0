"""What tests of pages share: texts that break a careless page, contrast, and the page in a real browser."""

import json
import re
import subprocess
from html import unescape

import numpy as np

HOSTILE = [
    b"</pre><script>parent.pwned=1</script>",
    b"<img src=x onerror=parent.pwned=1>",
    b"&lt;",
    b"\n    ",
    b"\t",
    b"\xe2\x80",
]
FRAME = """<!DOCTYPE html><meta charset="utf-8"><iframe src="page.html" width="{width}" height="600"
 style="border:0"></iframe><script>
document.querySelector("iframe").onload = (event) => {{
  const inner = event.target.contentWindow, page = inner.document, root = page.documentElement;
  page.querySelectorAll("details").forEach((each) => (each.open = true));
  const all = (query) => [...page.querySelectorAll(query)];
  document.documentElement.dataset.found = JSON.stringify({{
    scroll: root.scrollWidth, client: root.clientWidth, pwned: String(window.pwned),
    resources: inner.performance.getEntriesByType("resource").length, scripts: all("script, img").length,
    figures: all("section").map((each) => [each.id, each.querySelectorAll("figure").length]),
    links: all("table a").every((each) => page.getElementById(each.getAttribute("href").slice(1))),
    {more}
  }});
}};
</script>"""


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def in_a_browser(browser, page, folder, *, width, more):
    """What a script beside the page reads off it at a width; the page fits, and runs and loads nothing.

    more  further entries in JavaScript, of ``all(query)`` and ``inner``, the page's window
    """
    (folder / "page.html").write_text(page, encoding="utf-8")
    (folder / "frame.html").write_text(FRAME.format(width=width, more=more), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    profile, address = f"--user-data-dir={folder / 'profile'}", (folder / "frame.html").as_uri()
    done = subprocess.run([browser, *options, profile, address], capture_output=True, text=True, timeout=120)
    found = json.loads(unescape(re.search(r'data-found="([^"]*)"', done.stdout)[1]))
    assert width - 20 < found["client"] == found["scroll"]  # but for the bar of the vertical scrolling
    assert (found["pwned"], found["scripts"], found["resources"]) == ("undefined", 0, 0)
    assert found["links"] is True
    return found
