import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from rllc.analysis.trajectories import resample, z_score

STEPS = [0, 3, 10, 40, 41, 300, 2000]


def curves(values, steps=STEPS):
    return xr.DataArray(
        values, dims=("step", "head"), coords={"step": steps, "head": ["0:0", "0:1"][: len(values[0])]}
    )


@settings(deadline=None, max_examples=30)
@given(
    slope=st.floats(-5, 5),
    level=st.floats(-5, 5),
    points=st.integers(2, 40),
    steps=st.lists(st.integers(0, 10**6), min_size=2, max_size=12, unique=True).map(sorted),
)
def test_a_line_in_log_step_is_resampled_exactly(slope, level, points, steps):
    line = level + slope * np.log(np.asarray(steps) + 1.0)
    grid = resample(curves(line[:, None], steps), points=points)
    np.testing.assert_allclose(grid.values[0], level + slope * grid["grid"].values, atol=1e-9)
    np.testing.assert_allclose(
        grid["grid_step"].values[[0, -1]], [steps[0], steps[-1]], atol=1e-6 * steps[-1] + 1e-9
    )
    np.testing.assert_allclose(np.diff(grid["grid"]), (grid["grid"][-1] - grid["grid"][0]) / (points - 1))


def test_missing_cells_are_bridged_and_empty_curves_flagged():
    line = np.log1p(np.asarray(STEPS, float))
    values = np.stack([line, line], axis=1)
    values[2:4, 0] = np.nan
    values[1:, 1] = np.nan
    grid = resample(curves(values), points=9)
    np.testing.assert_allclose(grid.sel(head="0:0"), grid["grid"], atol=1e-12)
    assert grid.sel(head="0:1").isnull().all()


def test_missing_ends_hold_the_nearest_value():
    values = np.asarray([[np.nan], [2.0], [3.0], [4.0], [4.0], [5.0], [np.inf]])
    grid = resample(curves(values), points=50).values[0]
    assert grid[0] == 2.0
    assert grid[-1] == 5.0


def test_other_dims_are_kept_and_standardized_curves_have_unit_scale():
    values = np.random.default_rng(0).normal(size=(2, 7, 3, 2))
    array = xr.DataArray(values, dims=("seed", "step", "head", "distribution"), coords={"step": STEPS})
    grid = resample(array, points=20, standardize=True)
    assert grid.dims == ("seed", "head", "distribution", "grid")
    np.testing.assert_allclose(grid.mean("grid"), 0, atol=1e-12)
    np.testing.assert_allclose(grid.std("grid"), 1)


def test_constant_curves_become_zero_and_missing_ones_stay_missing():
    np.testing.assert_array_equal(
        z_score(np.asarray([[2.0, 2.0], [np.nan, np.nan]])), [[0, 0], [np.nan, np.nan]]
    )


@pytest.mark.parametrize(
    ("array", "points", "said"),
    [
        (curves(np.ones((7, 1))), 1, "2 points"),
        (curves(np.ones((1, 1)), [5]), 4, "2 checkpoints"),
        (curves(np.ones((2, 1)), [5, 5]), 4, "ascending"),
        (xr.DataArray(np.ones(3), dims="head"), 4, "'step'"),
    ],
)
def test_bad_input_is_refused(array, points, said):
    with pytest.raises(ValueError, match=said):
        resample(array, points=points)
