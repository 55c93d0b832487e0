import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from rllc.analysis.comparison import curvature_prediction, rank_correlation, shrinkage
from rllc.analysis.ranks import spearman


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


def test_shrinkage_and_prediction():
    on, off = xr.DataArray([1.0, 0.5, -0.2, 1.0]), xr.DataArray([1.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(shrinkage(on, off), [0.0, 0.5, 1.2, np.nan])
    assert curvature_prediction(xr.DataArray(8.0), n_beta=30, localization=200) == pytest.approx(0.6)
    for localization in (0, xr.DataArray([200.0, 0.0])):
        with pytest.raises(ValueError, match="localization"):
            curvature_prediction(xr.DataArray(8.0), n_beta=30, localization=localization)
