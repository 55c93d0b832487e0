"""Findings of the text of each distribution, and the bars that are drawn of it."""

import numpy as np
import pytest
import xarray as xr

from rllc.figures.corpus import corpus_summary


@pytest.fixture
def corpus():
    values = {
        "documents": [12, 2500.0, np.nan],
        "tokens": [3e6, 16.5e6, np.nan],
        "repeated_share": [0.25, 0.0, 0.5],
    }
    made = xr.Dataset({n: ("distribution", v) for n, v in values.items()}, {"distribution": ["a", "b", "c"]})
    return made.assign_coords(distribution_label=("distribution", ["my text", "prose", "code"]))


def test_corpus_finds_the_largest_and_smallest_value_and_whose_they_are(corpus):
    findings = {f.label: (f.value, f.unit) for f in corpus_summary({"corpus": corpus}).findings}
    assert findings == {
        "largest number of training tokens (prose)": (16.5e6, "1"),
        "smallest number of training tokens (my text)": (3e6, "1"),
        "largest share of tokens seen before in their block (code)": (50.0, "%"),
        "smallest share of tokens seen before in their block (prose)": (0.0, "%"),
    }


def test_corpus_of_one_distribution_has_one_finding_of_each(corpus):
    found = corpus_summary({"corpus": corpus.isel(distribution=[0])}).findings
    assert [f.value for f in found] == [3e6, 25.0]
    assert not any(word in f.label for f in found for word in ("largest", "smallest"))


def test_corpus_without_a_value_has_no_finding_of_it(corpus):
    found = corpus_summary({"corpus": corpus.isel(distribution=[2])}).findings
    assert [f.value for f in found] == [50.0]


def test_text_is_a_bar_for_every_number_of_a_distribution():
    values = {
        "documents": [12, 2500.0, np.nan], "tokens": [3e6, 16.5e6, 1e4], "unigram_entropy": [6.125, 5.5, 7.0],
        "repeated_share": [0.25, 0.0, 0.5],
    }  # fmt: skip
    names = ["mixture", "english", "code"]
    corpus = xr.Dataset({n: ("distribution", v) for n, v in values.items()}, {"distribution": names})
    drawing = corpus_summary({"corpus": corpus})
    titles = ["documents", "training tokens", "unigram entropy (nats/token)", "seen before in block (share)"]
    texts = [["12", "2,500", "missing"], ["3M", "16.5M", "10k"], ["6.12", "5.5", "7"], ["0.25", "0", "0.5"]]
    for ax, title, bars, text in zip(drawing.figure.axes, titles, values.values(), texts, strict=True):
        assert ax.get_title("left") == title
        assert [bar.get_width() for bar in ax.patches] == np.nan_to_num(bars).tolist()
        assert [each.get_text() for each in ax.texts] == text
        top = np.nanmax(bars)
        assert ax.get_xlim() == pytest.approx((0, 1.32 * top))
        np.testing.assert_allclose(
            [each.get_position()[0] for each in ax.texts], np.nan_to_num(bars) + 0.03 * top
        )
    assert drawing.figure.axes[0].yaxis_inverted()
