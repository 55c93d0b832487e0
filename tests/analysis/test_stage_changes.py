"""Changes of curves over stages."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from rllc.analysis.stage_changes import stage_changes

STEPS = [0, 10, 100, 1000]


def curve(values, **dims):
    return xr.DataArray(values, {"step": STEPS, **dims}, ["step", *dims])


def test_a_change_is_from_edge_to_edge_with_both_errors():
    value, error = curve([1.0, 2.0, 5.0, 4.0]), curve([0.3, 0.4, 0.0, 1.0])
    made = stage_changes(value, error, [0, 10, 1000])
    assert made["change"].values.tolist() == [1.0, 2.0]
    np.testing.assert_allclose(made["change_se"], [0.5, np.hypot(0.4, 1.0)])
    np.testing.assert_allclose(made["half_width"], stats.norm.ppf(0.975) * made["change_se"])
    assert made["first"].values.tolist() == [0, 10] and made["last"].values.tolist() == [10, 1000]


def test_few_degrees_of_freedom_widen_the_interval():
    value, error = curve([1.0, 2.0, 5.0, 4.0]), curve([1.0, 1.0, 1.0, 0.0])
    made = stage_changes(value, error, [0, 100, 1000], 3.0)
    expected = [stats.t.ppf(0.975, 6) * np.sqrt(2), stats.t.ppf(0.975, 3)]
    np.testing.assert_allclose(made["half_width"], expected)
    own = stage_changes(value, error, [0, 100, 1000], curve([3.0, 9.0, 3.0, 3.0]))
    np.testing.assert_allclose(own["half_width"], expected)


def test_the_nearest_measured_checkpoint_counts_and_a_stage_between_two_has_no_change():
    value, error = curve([1.0, np.nan, 5.0, 4.0]), curve([0.1, 0.1, 0.1, 0.1])
    made = stage_changes(value, error, [0, 12, 90, 1000])
    assert made["last"].values.tolist() == [0, 100, 1000]
    assert np.isnan(made["change"].values[0])
    np.testing.assert_allclose(made["change"].values[1:], [4.0, -1.0])


def test_every_head_has_its_own_change_and_too_few_checkpoints_have_none():
    heads = curve(np.arange(8.0).reshape(4, 2), head=["0:0", "0:1"])
    made = stage_changes(heads, xr.ones_like(heads), [0, 1000])
    assert made["change"].values.tolist() == [[6.0, 6.0]] and made["change"].dims == ("stage", "head")
    nothing = stage_changes(heads.where(heads["step"] == 10), xr.ones_like(heads), [0, 1000])
    assert nothing.sizes["stage"] == 0 and nothing["change"].dims == ("stage", "head")


def test_a_missing_error_leaves_no_interval():
    value, error = curve([1.0, 2.0, 5.0, 4.0]), curve([np.nan, 0.1, 0.1, 0.1])
    made = stage_changes(value, error, [0, 10, 1000])
    assert np.isnan(made["half_width"].values[0]) and made["half_width"].values[1] == pytest.approx(
        stats.norm.ppf(0.975) * np.hypot(0.1, 0.1)
    )
