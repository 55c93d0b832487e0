import warnings

import numpy as np
import pytest

from rllc.analysis.gaussian_process import SCALE, smooth

STEP = np.geomspace(1, 1000, 12)


def test_smooth_of_a_straight_line_whose_length_is_at_its_bound_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = smooth(STEP, np.log(STEP))
    np.testing.assert_allclose(found.slope, 1.0, atol=0.1)


def bumpy(seed):
    """A slow rise by 27 with a bump of 3 in its flat beginning, and standard errors of 0.12 to 0.24."""
    random = np.random.default_rng(seed)
    step = 10 * 1.17 ** np.arange(38)
    x = np.log(step)
    truth = 11 + 27 / (1 + np.exp(-(x - np.log(250)) / 0.7)) + 2.9 * np.exp(-(((x - np.log(23)) / 0.2) ** 2))
    error = random.uniform(0.12, 0.24, step.size)
    return step, truth, truth + error * random.normal(size=step.size), error


@pytest.mark.parametrize("seed", range(4))
def test_smoothed_curve_keeps_a_bump_that_known_errors_cannot_explain(seed):
    step, truth, value, error = bumpy(seed)
    found = smooth(step, value, error)
    away = np.abs(found.value - value) / error
    assert away.max() < 3 and np.sort(away)[-3] < 2.5
    top, foot = np.abs(step - 23).argmin(), np.abs(step - 40).argmin()
    assert found.value[top] - found.value[foot] == pytest.approx(truth[top] - truth[foot], abs=0.8)
    assert 1 <= found.error_scale <= SCALE[1]


def test_points_of_smaller_errors_weigh_more():
    """Every second point has errors of 0.02 about a line, the others of 1."""
    random = np.random.default_rng(0)
    step = np.geomspace(1, 1000, 40)
    error = np.where(np.arange(40) % 2, 1.0, 0.02)
    truth = 3 * np.log(step)
    found = smooth(step, truth + error * random.normal(size=40), error)
    assert np.abs(found.value - truth).max() < 0.15


@pytest.mark.parametrize(("factor", "low", "high"), [(1.0, 1.0, 1.25), (1.6, 1.35, 1.9), (5.0, 1.0, 2.0)])
def test_scale_of_errors_is_that_of_the_residuals_within_its_bounds(factor, low, high):
    random = np.random.default_rng(1)
    step = np.geomspace(1, 1000, 120)
    error = random.uniform(0.1, 0.2, 120)
    found = smooth(step, 3 * np.log(step) + factor * error * random.normal(size=120), error)
    assert low <= found.error_scale <= high


@pytest.mark.parametrize("error", [np.full(12, np.nan), np.zeros(12), None])
def test_noise_is_fitted_where_no_error_is_known(error):
    value = np.log(STEP) + np.random.default_rng(0).normal(0, 0.1, 12)
    found = smooth(STEP, value, error)
    assert np.isnan(found.error_scale)
    np.testing.assert_array_equal(found.value, smooth(STEP, value).value)
