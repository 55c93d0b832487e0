"""Common parts of pages: one static file without a script, two colour schemes, visible blanks."""

from collections.abc import Callable
from html import escape

import numpy as np

INK = "#1a1a1a"  # colour of letters on every mark, in the light and in the dark scheme
SCHEMES = {  # light and dark
    "ink": ("#1a1a1a", "#e8e8e8"),
    "paper": ("#ffffff", "#16181c"),
    "soft": ("#595959", "#b0b0b0"),
    "line": ("#d0d0d0", "#44484f"),
    "link": ("#0b4f9e", "#8ab8ff"),
    "box": ("#f6f6f6", "#1f2228"),
}
HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>"""
END = ("</main>", "</body>", "</html>", "")
WIDE = '<div class="wide" role="region" aria-label="{label}" tabindex="0"><table>'
GAP = '<span class="g"> … </span>'


def head(title: str, style: str) -> str:
    """Return the beginning of a page. ``style`` holds rules beside those of every page."""
    return HEAD.format(title=escape(title), style=_css() + style)


def _css() -> str:
    def scheme(which: int) -> str:
        return "".join(f"--{name}:{colors[which]};" for name, colors in SCHEMES.items())

    return (
        f":root{{color-scheme:light dark;{scheme(0)}}}"
        f"@media(prefers-color-scheme:dark){{:root{{{scheme(1)}}}}}"
        "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}"
        "main{max-width:60rem;margin:0 auto;padding:1rem}"
        "a{color:var(--link)}h1{font-size:1.6rem}h2{font-size:1.25rem;margin:2.2rem 0 .4rem}"
        ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}"
        "caption{text-align:left;padding:.3rem 0}"
        "th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right}"
        "td{white-space:nowrap}"
        "th:first-child,th.w,td.w{text-align:left}"
        "summary{cursor:pointer;padding:.3rem 0}details{border-top:1px solid var(--line)}"
        "figure{margin:.6rem 0 1.2rem}figcaption{font-size:.9rem;margin-bottom:.3rem;overflow-wrap:anywhere}"
        "pre{margin:0;padding:.6rem;background:var(--box);font:.85rem/1.6 ui-monospace,monospace;"
        "white-space:pre-wrap;overflow-wrap:anywhere}"
        "code{font-family:ui-monospace,monospace;background:var(--box);overflow-wrap:anywhere;white-space:pre-wrap}"
    )


def percent(share: float) -> str:
    """Return a share as "12 %"; a dash if it is unknown."""
    return f"{share:.0%}".replace("%", " %") if np.isfinite(share) else "–"


def plain(text: str) -> str:
    """Return HTML of a text with a sign beside line ends and tabs, which screen readers skip."""
    return _signed(text, lambda sign, kept: f'<span class="n" aria-hidden="true">{sign}</span>{kept}')


def marked(text: str) -> str:
    """Return the same HTML with spaces as dots."""
    return _signed(text, lambda sign, kept: f"{sign}{kept}").replace(" ", "·")


def _signed(text: str, sign: Callable[[str, str], str]) -> str:
    signs = {"\n": "↵", "\t": "⇥"}
    return "".join(sign(signs[c], c) if c in signs else escape(c) for c in text)
