import math

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import kstest

from rllc.estimator.diagnostics.heidelberger_welch import cramer_von_mises, heidelberger_welch
from rllc.estimator.diagnostics.spectrum import spectrum_at_zero


def test_distribution_has_the_tabulated_critical_values():
    """Anderson and Darling (1952), table 1."""
    found = cramer_von_mises(np.array([0.11888, 0.34730, 0.46136, 0.74346, 1.16786]))
    assert found == pytest.approx(np.array([0.5, 0.9, 0.95, 0.99, 0.999]), abs=1e-5)
    assert cramer_von_mises(np.array([0.0, 1e-6, 50.0])).tolist() == [0, 0, 1]
    assert np.isnan(cramer_von_mises(np.array(np.nan)))


def as_in_coda(chain, alpha=0.05):
    """heidel.diag of one chain, draws counted from 1 as in R; (start, p, ratio of the half-width)."""
    n = len(chain)
    density = spectrum_at_zero(chain[math.ceil(n / 2) - 1 :])
    first = 1.0
    while first <= n / 2:
        rest = chain[math.ceil(first) - 1 :]
        m = len(rest)
        bridge = np.cumsum(rest) - rest.mean() * np.arange(1, m + 1)
        p = 1 - float(cramer_von_mises(np.array(np.mean(bridge**2 / (m * density)))))
        if p > alpha:
            return math.ceil(first - 1) / n, p, 1.96 * np.sqrt(spectrum_at_zero(rest) / m) / abs(rest.mean())
        first += n / 10
    return np.nan, p, np.nan


@pytest.mark.parametrize("length", [20, 37, 200])
def test_chains_of_all_kinds_as_in_coda(length):
    random = np.random.default_rng(length)
    settles = np.exp(-np.arange(length) / (length / 20))
    chains = random.normal(size=(40, length)) + 5
    chains[10:20] += 4 * settles
    chains[20:30] += 15 * settles
    chains[30:] += np.linspace(0, 4, length)
    found = heidelberger_welch(chains.reshape(4, 10, length))
    expected = np.array([as_in_coda(chain) for chain in chains]).T
    for name, one in zip(found._fields, expected, strict=True):
        assert getattr(found, name).reshape(-1) == pytest.approx(one, nan_ok=True, rel=1e-9), name
    if length == 200:
        assert np.isnan(expected[0][30:]).any()
        assert len(np.unique(expected[0][10:30])) > 2


def test_p_is_uniform_on_long_stationary_chains():
    noise = np.random.default_rng(1).normal(size=(400, 4000))
    for phi in (0.0, 0.6):
        chains = lfilter([1], [1, -phi], noise)[:, 100:]
        assert kstest(heidelberger_welch(chains, alpha=-1.0).p, "uniform").pvalue > 0.01


def test_short_constant_and_broken_chains_have_none():
    chains = np.random.default_rng(0).normal(size=(3, 2, 40))
    chains[0], chains[1, 0], chains[1, 1, 3] = 2.0, np.linspace(0, 1, 40), np.nan
    for found in heidelberger_welch(chains):
        assert np.isnan(found[:2]).all()
        assert np.isfinite(found[2]).all()
    assert np.isnan(np.array(heidelberger_welch(chains[..., :19]))).all()
    assert heidelberger_welch(np.zeros((2, 3, 1))).p.shape == (2, 3)
