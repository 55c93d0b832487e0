"""Ranks and correlations over known pairs, along the last axis."""

import numpy as np
import pytest
from scipy import stats

from rllc.analysis.ranks import pearson, ranks, spearman


def test_ties_have_their_mean_rank_and_unknown_values_none():
    found = ranks(np.array([[2.0, np.nan, 1.0, 2.0, 5.0], [0.0, -0.0, np.nan, np.nan, -1.0]]))
    np.testing.assert_array_equal(found, [[2.5, np.nan, 1, 2.5, 4], [2.5, 2.5, np.nan, np.nan, 1]])


@pytest.mark.parametrize("digits", [0, 9])
@pytest.mark.parametrize(("ours", "theirs"), [(spearman, stats.spearmanr), (pearson, stats.pearsonr)])
def test_correlation_of_every_row_is_that_of_its_known_pairs(ours, theirs, digits):
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 40, 15)).round(digits)
    a[random.random(a.shape) < 0.2] = np.nan
    b[random.random(b.shape) < 0.1] = np.inf
    for found, x, y in zip(ours(a, b), a, b, strict=True):
        known = np.isfinite(x) & np.isfinite(y)
        assert found == pytest.approx(theirs(x[known], y[known]).statistic, abs=1e-12)


@pytest.mark.parametrize("function", [spearman, pearson])
def test_correlation_of_few_pairs_or_a_constant_is_unknown(function):
    assert np.isnan(function([1.0, 2.0, np.nan], [1.0, 2.0, 3.0]))
    assert np.isnan(function([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))
    assert np.isnan(function(np.empty(0), np.empty(0)))
