"""Jackknife error over checkpoints: by hand, and of statistics whose error is known."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from rllc.analysis.curves import NotJudged, growth
from rllc.analysis.jackknife import jackknife_error


def curve(values, steps=None):
    steps = np.arange(len(values)) if steps is None else steps
    return xr.DataArray(np.asarray(values, dtype=float), {"step": steps}, ["step"])


def test_jackknife_error_of_a_mean_equals_its_standard_error():
    values = np.random.default_rng(0).normal(size=12)
    found = jackknife_error(lambda one: one.mean("step"), curve(values))
    assert float(found) == pytest.approx(stats.sem(values), rel=1e-12)


def test_jackknife_error_of_growth_equals_loops_over_checkpoints_left_out():
    values = [3, 1, 2, 4, 5, 6]
    each = [stats.spearmanr(np.delete(range(6), n), np.delete(values, n)).statistic for n in range(6)]
    assert sorted(np.round(each, 9)) == [0.7, 0.7, 0.7, 0.9, 0.9, 1.0]
    found = float(jackknife_error(growth, curve(values)))
    assert found == pytest.approx(np.sqrt(5 / 6 * ((each - np.mean(each)) ** 2).sum()), rel=1e-9)


def test_jackknife_error_of_a_curve_that_always_rises_is_zero():
    assert float(jackknife_error(growth, curve([1, 2, 4, 8, 9]))) == 0


def test_jackknife_error_leaves_out_checkpoints_without_a_value():
    whole = jackknife_error(growth, curve([3, 1, 2, 4, 5, 6]))
    missing = jackknife_error(growth, curve([3, 1, np.nan, 2, 4, 5, 6]))
    assert float(missing) == pytest.approx(float(whole), rel=1e-12)


def test_jackknife_error_of_three_checkpoints_is_not_judged():
    with pytest.raises(NotJudged, match="needs 4, has 3"):
        jackknife_error(growth, curve([1, 2, 3]))
