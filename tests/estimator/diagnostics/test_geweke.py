import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import kstest

from rllc.estimator.diagnostics.geweke import geweke
from rllc.estimator.diagnostics.spectrum import spectrum_at_zero


def test_windows_are_those_of_coda():
    """Of draws 1..200: 1 to ceil(1 + 0.1 * 199) = 21, and floor(200 - 0.5 * 199) = 100 to 200."""
    trace = np.random.default_rng(0).normal(size=200).cumsum()
    first, last = trace[:21], trace[99:]
    variance = spectrum_at_zero(first) / 21 + spectrum_at_zero(last) / 101
    assert geweke(trace) == pytest.approx((first.mean() - last.mean()) / np.sqrt(variance))
    # 1 + 0.1 * 190 and 191 - 0.5 * 190 are whole numbers: 1..20 and 96..191
    first, last = trace[:20], trace[95:191]
    variance = spectrum_at_zero(first) / 20 + spectrum_at_zero(last) / 96
    assert geweke(trace[:191]) == pytest.approx((first.mean() - last.mean()) / np.sqrt(variance))


def test_is_standard_normal_on_long_stationary_chains():
    noise = np.random.default_rng(1).normal(size=(400, 4000))
    for phi in (0.0, 0.6):
        z = geweke(lfilter([1], [1, -phi], noise)[:, 100:])
        assert kstest(z, "norm").pvalue > 0.01
        assert z.std() == pytest.approx(1, abs=0.12)


def test_a_trend_is_seen():
    trace = np.random.default_rng(2).normal(size=(50, 200)) + np.linspace(3, 0, 200)
    assert (geweke(trace) > 3).mean() > 0.95


def test_short_constant_and_broken_chains_have_none():
    assert np.isnan(geweke(np.random.default_rng(0).normal(size=(2, 3, 81)))).all()
    assert np.isfinite(geweke(np.random.default_rng(0).normal(size=(2, 3, 82)))).all()
    assert np.isnan(geweke(np.ones((2, 100)))).all()
    assert np.isnan(geweke(np.full((2, 100), np.nan))).all()
    assert geweke(np.zeros((3, 1))).shape == (3,)
