import numpy as np

from rllc.estimator.diagnostics.status import DIVERGED, NONFINITE, OK, chain_status


def status(rise, factor=2.0, scale=3.0):
    rise = np.asarray(rise, dtype=float)
    return int(chain_status(rise + 3, rise, scale=scale, divergence_factor=factor))


def test_status_of_a_chain():
    steady = np.full(20, 100.0)
    growing = np.linspace(0, 100, 20)
    assert status(growing) == DIVERGED
    assert status(steady) == OK  # far, but no longer growing
    assert status(growing / 20) == OK  # growing, but near
    assert status(90 + growing / 10) == OK  # by less than 5 % from a quarter to the next
    assert status(growing, factor=50.0) == OK
    assert status(growing, scale=60.0) == OK
    assert status(np.append(growing, np.nan)) == NONFINITE
    assert status(np.append(np.inf, np.zeros(8))) == NONFINITE
    assert status([100.0]) == OK  # one draw cannot grow


def test_status_is_per_chain():
    rise = np.stack([np.zeros(8), np.arange(8.0) * 10, np.full(8, np.nan)])[None]
    found = chain_status(rise, rise, scale=np.ones((1, 1)), divergence_factor=2)
    assert found.tolist() == [[0, 2, 1]]
    assert found.dtype == np.int8
