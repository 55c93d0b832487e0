import numpy as np
import pytest

from rllc.estimator.diagnostics.mixing import ess, rhat, rhat_by_chance


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
        assert ess(trace) == pytest.approx(arviz.ess(trace, method="mean"), rel=1e-9), name
        assert rhat(trace) == pytest.approx(arviz.rhat(trace), rel=1e-9, nan_ok=True), name


def test_limits_of_rhat_and_ess():
    assert np.isnan(rhat(np.zeros((4, 3))))
    assert np.isnan(rhat(np.ones((4, 10))))
    assert np.isnan(ess(np.zeros((0, 10))))
    assert np.isnan(ess(np.zeros((2, 3))))
    assert ess(np.ones((2, 10))) == 20


@pytest.mark.parametrize(("chains", "draws"), [(4, 6), (2, 9), (4, 20)])
def test_the_limit_by_chance_is_exceeded_as_often_as_it_says(chains, draws):
    """Bulk and tail are nearly independent, so the bound is nearly reached; 4 binomial errors of 3,000."""
    random = np.random.default_rng(0)
    values = np.array([rhat(random.normal(size=(chains, draws))) for _ in range(3000)])
    assert 0.028 < (values > rhat_by_chance(chains, draws, share=0.05)).mean() < 0.066
    assert (values > rhat_by_chance(chains, draws, share=1e-3)).mean() < 0.004
