import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from rllc.analysis.comparison import (
    contrast,
    curvature_prediction,
    lead,
    onset,
    rank_correlation,
    shrinkage,
    spearman,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=3, max_size=20))
def test_spearman_equals_scipy_with_ties(pairs):
    a, b = np.asarray(pairs, float).T
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert np.isnan(spearman(a, b))
    else:
        assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


def cells(seed):
    values = np.random.default_rng(seed).normal(size=(2, 3, 6))
    coords = {"seed": [0, 1], "step": [0, 5, 9], "head": [f"0:{i}" for i in range(6)]}
    return xr.DataArray(values, dims=("seed", "step", "head"), coords=coords)


def test_rank_correlation_per_cell_and_pooled():
    a, b = cells(0), cells(1)
    b[0, 0, 2] = np.nan
    each = rank_correlation(a, b)
    assert each.dims == ("seed", "step")
    for s in range(2):
        for t in range(3):
            truth = spearmanr(a[s, t], b[s, t], nan_policy="omit").statistic
            assert each[s, t].item() == pytest.approx(truth, abs=1e-12)
    pooled = rank_correlation(a, b, dim=("step", "head"))
    truth = spearmanr(a[1].values.ravel(), b[1].values.ravel()).statistic
    assert pooled[1].item() == pytest.approx(truth, abs=1e-12)


def test_rank_correlation_aligns_by_label_and_never_pools_seeds():
    a = cells(0)
    np.testing.assert_allclose(rank_correlation(a, a.isel(head=[5, 4, 3, 2, 1, 0])), 1.0)
    assert rank_correlation(a, a.isel(step=[0, 2]))["step"].values.tolist() == [0, 9]
    with pytest.raises(ValueError, match="another seed"):
        rank_correlation(a, a, dim=("seed", "head"))


def test_contrast_is_the_paired_error():
    random = np.random.default_rng(0)
    shared = random.normal(0, 5, (3, 4))
    a = xr.DataArray(shared + random.normal(1, 0.1, (3, 4)), dims=("head", "chain"))
    b = xr.DataArray(shared, dims=("head", "chain"))
    found = contrast(a, b)
    difference = (a - b).values
    np.testing.assert_allclose(found["contrast"], difference.mean(1))
    np.testing.assert_allclose(found["contrast_se"], difference.std(1, ddof=1) / 2)
    a[0, 1] = np.nan
    kept = np.delete(difference[0], 1)
    assert contrast(a, b)["contrast_se"][0].item() == pytest.approx(kept.std(ddof=1) / np.sqrt(3))
    a[0, 1:] = np.nan
    assert np.isnan(contrast(a, b)["contrast_se"][0])


def test_shrinkage_and_prediction():
    on, off = xr.DataArray([1.0, 0.5, -0.2, 1.0]), xr.DataArray([1.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(shrinkage(on, off), [0.0, 0.5, 1.2, np.nan])
    assert curvature_prediction(xr.DataArray(8.0), n_beta=30, localization=200) == pytest.approx(0.6)
    with pytest.raises(ValueError, match="localization"):
        curvature_prediction(xr.DataArray(8.0), n_beta=30, localization=0)


def story():
    coords = {"step": [0, 10, 20, 30], "head": ["1:0", "1:1", "1:2"]}
    values = xr.DataArray(
        [[1, 1, 2], [3, 1, 2], [5, 2, 1], [6, 2, np.nan]], dims=("step", "head"), coords=coords
    )
    error = xr.DataArray(
        [[0.3, 0.1, 0.4], [0.3, 0.1, 0.4], [0.3, 0.4, 0.1], [0.3, 0.4, np.nan]],
        dims=("step", "head"),
        coords=coords,
    )
    return values, error


def test_lead_over_the_highest_other():
    values, error = story()
    found = lead(values, head="1:0", others=["1:1", "1:2"], error=error)
    np.testing.assert_allclose(found["lead"], [-1, 1, 3, 4])
    np.testing.assert_allclose(found["lead_se"], 0.5)
    assert found["rival"].values.tolist() == ["1:2", "1:2", "1:1", "1:1"]
    np.testing.assert_array_equal(lead(values, head="1:0", others=["1:1"])["lead_se"], 0)
    with pytest.raises(ValueError, match="empty"):
        lead(values, head="1:0", others=[])


@pytest.mark.parametrize(
    ("values", "threshold", "expected"),
    [
        ([-1, 1, 3, 4], 0.0, 10),
        ([-1, 1, 3, 4], 2.0, 20),
        ([5, -1, 3, 4], 0.0, 20),  # leaves again: counts from the last return
        ([1, 2, 3, 4], 0.0, 0),
        ([-1, -1, -1, 4], 0.0, np.nan),  # the last checkpoint alone is no onset
        ([-1, -1, -1, -1], 0.0, np.nan),
        ([-1, 1, np.nan, 4], 0.0, 10),  # a missing cell neither makes nor breaks it
        ([-1, np.nan, 3, 4], 0.0, 20),
        ([np.nan] * 4, 0.0, np.nan),
    ],
)
def test_onset(values, threshold, expected):
    excess = xr.DataArray(values, dims="step", coords={"step": [0, 10, 20, 30]})
    np.testing.assert_equal(onset(excess, threshold=threshold), expected)
