"""Findings of the text of each distribution; what is drawn of it is tested with the lines of figures."""

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
