import numpy as np
import pytest

from rllc.measures import diagnostics


def traces():
    random = np.random.default_rng(0)
    yield "white", random.normal(size=(4, 30))
    yield "odd", random.normal(size=(3, 21))
    yield "one chain", random.normal(size=(1, 40))
    yield "shortest", random.normal(size=(2, 4))
    yield "trend", random.normal(size=(4, 50)) + np.linspace(0, 4, 50)
    yield "apart", random.normal(size=(4, 25)) + np.arange(4)[:, None]
    yield "ties", random.integers(0, 4, size=(4, 40)).astype(float)
    walk = np.zeros((4, 200))
    for t in range(1, 200):
        walk[:, t] = 0.9 * walk[:, t - 1] + random.normal(size=4)
    yield "correlated", walk
    yield "alternating", np.tile([1.0, -1.0], (4, 20)) + 0.1 * random.normal(size=(4, 40))


@pytest.mark.filterwarnings("ignore")
def test_rhat_and_ess_are_those_of_arviz():
    import arviz

    for name, trace in traces():
        assert diagnostics.ess(trace) == pytest.approx(arviz.ess(trace, method="mean"), rel=1e-9), name
        assert diagnostics.rhat(trace) == pytest.approx(arviz.rhat(trace), rel=1e-9, nan_ok=True), name


def test_limits_of_rhat_and_ess():
    assert np.isnan(diagnostics.rhat(np.zeros((4, 3))))
    assert np.isnan(diagnostics.rhat(np.ones((4, 10))))
    assert np.isnan(diagnostics.ess(np.zeros((0, 10))))
    assert np.isnan(diagnostics.ess(np.zeros((2, 3))))
    assert diagnostics.ess(np.ones((2, 10))) == 20


def status(rise, factor=2.0, scale=3.0):
    rise = np.asarray(rise, dtype=float)
    return int(diagnostics.chain_status(rise + 3, rise, scale=scale, divergence_factor=factor))


def test_status_of_a_chain():
    steady = np.full(20, 100.0)
    growing = np.linspace(0, 100, 20)
    assert status(growing) == diagnostics.DIVERGED
    assert status(steady) == diagnostics.OK  # far, but no longer growing
    assert status(growing / 20) == diagnostics.OK  # growing, but near
    assert status(growing, factor=50.0) == diagnostics.OK
    assert status(growing, scale=60.0) == diagnostics.OK
    assert status(np.append(growing, np.nan)) == diagnostics.NONFINITE
    assert status(np.append(np.inf, np.zeros(8))) == diagnostics.NONFINITE
    assert status([100.0]) == diagnostics.OK  # one draw cannot grow


def test_status_is_per_chain():
    rise = np.stack([np.zeros(8), np.arange(8.0) * 10, np.full(8, np.nan)])[None]
    found = diagnostics.chain_status(rise, rise, scale=np.ones((1, 1)), divergence_factor=2)
    assert found.tolist() == [[0, 2, 1]]
    assert found.dtype == np.int8
