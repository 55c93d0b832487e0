"""The figure and the page of tokens whose loss falls in each stage; the page in a browser."""

import json
import re
from html import escape

import numpy as np
import pytest
import xarray as xr
from pages import HOSTILE, contrast, in_a_browser

from rllc.analysis.highlights import highlights
from rllc.figures.highlights import stage_fig5_text_highlights
from rllc.figures.highlights_page import text_highlights
from rllc.figures.page import INK
from rllc.figures.passages import BETTER, WORSE, color, passages, shade

CONTEXTS, POSITIONS, LENGTH = 4, 20, 12
STEPS = [0, 10, 100]


@pytest.fixture(scope="module")
def datasets():
    """Two seeds, the first of two stages; the texts are such as break a careless page, one of them of two tokens."""
    random = np.random.default_rng(0)
    words = [piece.decode("utf-8", "replace") for piece in HOSTILE]
    text = np.asarray([[words[n % len(words)] for n in range(POSITIONS)]] * CONTEXTS, dtype=object)
    text[:, 3] = ""
    joined = np.tile(np.arange(POSITIONS), (CONTEXTS, 1))
    joined[:, 3] = 2
    repeated = np.tile(np.arange(POSITIONS) % 2, (CONTEXTS, 1))
    loss = random.normal(5, 1, (2, len(STEPS), CONTEXTS, POSITIONS))
    where = ("context", "position")
    losses = xr.Dataset(
        dict.fromkeys(("loss", "logit"), (("seed", "step", *where), loss)),
        {"seed": [0, 1], "step": STEPS, "text": (where, text), "joined": (where, joined),
         "second": (where, repeated), "repeated": (where, repeated)},
    )  # fmt: skip
    dims = ("setting", "distribution", "seed", "boundary")
    table = xr.Dataset(
        {
            "boundary_step": (dims, [[[[10.0], [np.nan]]]]),
            "boundary_kind": (dims, [[[["peak"], [""]]]]),
            "boundary_determined": (dims, [[[[0.0], [np.nan]]]]),
            "llc_loss_correlation": (dims[:3], [[[-0.99, 0.5]]]),
            "sampled_loss": ((*dims[:3], "step"), [[[[9.0, 8.0, 8.0], [7.0, 7.0, 7.0]]]]),
        },
        {"setting": ["published"], "distribution": ["mixture"], "seed": [0, 1], "step": STEPS},
        {"chance": 6.9, "guess": "uniform predictions"},
    )
    asked = {"distribution": "mixture", "setting": "published", "length": LENGTH}
    made = highlights({"token_losses": losses, "stages": table}, **asked, random_seed=0)
    return {"highlights": made.assign_attrs(highlights=json.dumps(asked)), "stages": table}


# --- passages


def test_colours_end_at_the_scale():
    assert [shade(gain, 2.0) for gain in (0.1, 0.3, 1.0, 2.0, 9.0, -0.3, -9.0)] == [0, 1, 2, 5, 5, -1, -5]
    assert shade(1.0, 0.0) == 0  # nothing changed
    assert (color(0), color(5), color(-1)) == (None, BETTER[-1], WORSE[0])


def test_tokens_that_share_a_character_are_one_with_the_sum_of_their_gains(datasets):
    one = datasets["highlights"].sel(seed=0, stage=1)
    one["excerpt_start"][...] = 1
    drawn = next(passages(one))
    gain = one["gain"].sel(context=drawn.context).values
    assert len(drawn.parts) == LENGTH - 1
    assert [value for _, value in drawn.parts[:3]] == pytest.approx([gain[1], gain[2] + gain[3], gain[4]])
    one["excerpt_start"][...] = 3  # the text of its first token began before
    assert len(next(passages(one)).parts) == LENGTH - 1


def test_dark_letters_can_be_read_on_every_colour():
    assert min(contrast(INK, each) for each in (*BETTER, *WORSE)) >= 4.5


# --- the figure


def test_a_row_per_stage_of_the_figure(datasets, misplaced):
    drawing = stage_fig5_text_highlights(datasets)
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert "Stage 1, steps 0 to 10, to a possible boundary" in texts
    assert "Stage 2, steps 10 to 100, to the end of training" in texts
    assert misplaced(drawing) == []
    drawn = drawing.data["excerpt_context"].values
    assert set(drawing.data["context"].values) == set(drawn[np.isfinite(drawn)])


def test_each_stage_has_the_fall_of_its_loss_as_a_finding(datasets):
    drawing = stage_fig5_text_highlights(datasets)
    findings = {finding.label: finding for finding in drawing.findings}
    for stage, steps in ((1, "0 to 10"), (2, "10 to 100")):
        for kind, words in (("all", "all tokens"), ("repeated", "repeats")):
            found = findings[f"fall of the loss, steps {steps}, {words}"]
            cell = datasets["highlights"].sel(seed=0, stage=stage)
            gain = cell["gain"].values
            if kind == "repeated":
                gain = gain[cell["repeated"].values == 1]
            assert found.value == pytest.approx(gain.mean())
            assert found.error == float(cell["mean_gain_se"].sel(tokens=kind))
            assert found.unit == "nats/token"
    assert next(f for label, f in findings.items() if "correlation of LLC" in label).value == -0.99
    assert len(findings) == 5
    assert any("LLC on mixture, setting published" in each for each in drawing.conditions)


def test_many_stages_have_one_finding_each_and_at_most_five(datasets):
    made = datasets["highlights"].sel(stage=[1] * 9).assign_coords(stage=range(1, 10))
    drawing = stage_fig5_text_highlights({"highlights": made.assign_attrs(datasets["highlights"].attrs)})
    assert [finding.label for finding in drawing.findings] == [
        "fall of the loss, steps 0 to 10, all tokens"
    ] * 5


def test_without_stages_there_is_no_correlation_with_the_loss(datasets):
    drawing = stage_fig5_text_highlights({"highlights": datasets["highlights"]})
    assert not any("correlation" in finding.label for finding in drawing.findings)


def test_a_text_that_is_too_long_is_cut_after_seven_lines_and_says_so(datasets):
    made = datasets["highlights"]
    long = made.assign(text=made["text"].copy(data=np.full(made["text"].shape, "x" * 30, dtype=object)))
    ax = stage_fig5_text_highlights(datasets | {"highlights": long}).figure.axes[0]
    rows = {}
    for text in ax.texts:
        if text.get_text() in ("x", "…"):
            rows.setdefault(round(text.get_position()[1], 3), []).append(text.get_text())
    stages = [line for _, line in sorted(rows.items())]
    assert len(stages) == 2 * 7
    for stage in (stages[:7], stages[7:]):
        passages = stage[-1].count("…")
        assert [len(line) for line in stage] == [44 * passages] * 6 + [43 * passages]  # a space before "…"


def test_without_a_boundary_training_is_one_stage(datasets):
    drawing = stage_fig5_text_highlights(datasets, seed=1)
    assert "The LLC has no boundary: all of training is one stage." in drawing.conditions
    assert not any("one stage" in each for each in stage_fig5_text_highlights(datasets, seed=0).conditions)


# --- the page


def test_the_page_says_whether_the_stages_are_the_loss(datasets):
    said = "Correlation of LLC and initial loss after 1 % of training, mean and sd of 2 seeds: -0.2 ± 1.1."
    assert said in text_highlights(datasets)
    assert "Correlation of the LLC" not in text_highlights({"highlights": datasets["highlights"]})


@pytest.fixture(scope="module")
def page(datasets):
    return text_highlights(datasets, title="<language> & more")


def test_the_page_holds_no_markup_of_the_text(page):
    assert "<script" not in page and "<img" not in page
    assert escape("<img src=x onerror=parent.pwned=1>") in page
    assert "<title>Tokens whose loss falls in each stage: &lt;language&gt; &amp; more</title>" in page
    assert "default-src 'none'" in page


MORE = """
    tokens: all("pre").map((each) => [...each.querySelectorAll("span[title]")].map((one) => [
      one.textContent, one.title, inner.getComputedStyle(one).backgroundColor,
      inner.getComputedStyle(one).textDecorationLine])),"""


@pytest.mark.parametrize("width", [360, 1280])
def test_in_a_browser(page, datasets, browser, tmp_path, width):
    found = in_a_browser(browser, page, tmp_path, width=width, more=MORE)
    stages = [("seed0-stage1", 0, 1), ("seed0-stage2", 0, 2), ("seed1-stage1", 1, 1)]
    assert found["figures"] == [[anchor, 3] for anchor, *_ in stages]
    cells = [datasets["highlights"].sel(seed=seed, stage=stage) for _, seed, stage in stages]
    expected = [(each, float(cell["scale"])) for cell in cells for each in passages(cell)]
    for tokens, (passage, scale) in zip(found["tokens"], expected, strict=True):
        assert len(tokens) == len(passage.parts)
        for (shown, title, background, line), (text, gain) in zip(tokens, passage.parts, strict=True):
            step = shade(gain, scale)
            assert re.sub("[↵⇥]", "", shown) == text
            assert title == f"{gain:+.2f}"
            assert background == ("rgba(0, 0, 0, 0)" if step == 0 else rgb(color(step)))
            assert line == ("underline" if step < 0 else "none")


def rgb(code):
    return f"rgb({', '.join(str(int(code[i : i + 2], 16)) for i in (1, 3, 5))})"
