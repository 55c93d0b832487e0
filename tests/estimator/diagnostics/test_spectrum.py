import numpy as np
import pytest
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from rllc.estimator.diagnostics.spectrum import spectrum_at_zero


def by_toeplitz_systems(series):
    """The same from the Yule-Walker equations of every order, solved one by one."""
    length = len(series)
    centered = series - series.mean()
    covariance = np.array([centered[: length - k] @ centered[k:] for k in range(length)]) / length
    best, density = np.inf, np.nan
    for order in range(min(length - 2, int(10 * np.log10(length))) + 1):
        a = solve_toeplitz(covariance[:order], covariance[1 : order + 1]) if order else np.zeros(0)
        variance = covariance[0] - a @ covariance[1 : order + 1]
        aic = length * np.log(variance) + 2 * (order + 1)
        if aic < best:
            best, density = aic, variance * length / (length - order - 1) / (1 - a.sum()) ** 2
    return density


@pytest.mark.parametrize("length", [3, 10, 20, 101, 200])
@pytest.mark.parametrize("phi", [-0.6, 0.0, 0.5, 0.95])
def test_is_the_autoregression_of_lowest_aic(length, phi):
    random = np.random.default_rng(length)
    series = lfilter([1], [1, -phi], random.normal(size=(2, 3, length))) + 7
    expected = [[by_toeplitz_systems(series[i, j]) for j in range(3)] for i in range(2)]
    assert spectrum_at_zero(series) == pytest.approx(np.array(expected), rel=1e-6)


def test_the_highest_order_is_tried():
    """A series of 100 values that repeats after 20 = 10 log10(100)."""
    series = lfilter([1], [1, *[0] * 19, -0.9], np.random.default_rng(0).normal(size=(5, 100)))
    expected = [by_toeplitz_systems(one) for one in series]
    assert spectrum_at_zero(series) == pytest.approx(np.array(expected), rel=1e-6)


@pytest.mark.parametrize(
    ("numerator", "denominator", "density"),
    [
        ([1], [1], 1.0),
        ([1], [1, -0.8], 25.0),
        ([1], [1, 0.5], 1 / 2.25),
        ([1], [1, -0.5, -0.2], 1 / 0.09),
        ([1, 0.7], [1], 2.89),
    ],
)
def test_long_series_have_their_known_density(numerator, denominator, density):
    noise = np.random.default_rng(0).normal(size=(20, 20_000))
    found = spectrum_at_zero(lfilter(numerator, denominator, noise))
    assert found.mean() == pytest.approx(density, rel=0.05)


def test_series_without_noise():
    series = np.stack([np.full(30, 4.0), np.linspace(0, 1, 30), np.full(30, np.nan)])
    found = spectrum_at_zero(series)
    assert found[:2].tolist() == [0, 0]
    assert np.isnan(found[2])
    assert np.isnan(spectrum_at_zero(np.ones((2, 2)))).all()
