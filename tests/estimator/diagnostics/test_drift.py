import numpy as np
import pytest
from scipy.signal import lfilter

from rllc.estimator.diagnostics.drift import drift


def test_is_the_last_half_less_the_first():
    trace = np.array([[0.0, 1, 9, 4, 6], [1, 2, 9, 5, 9]])
    assert drift(trace)[0] == pytest.approx(6 - 1)
    assert np.isnan(drift(trace)[1])  # two draws have no error
    assert np.isnan(drift(np.zeros((0, 8)))).all()
    assert np.isnan(drift(np.zeros((2, 1)))).all()
    assert drift(np.ones((2, 8))) == (0, 0)


@pytest.mark.parametrize("common", [0.0, 2.0])
@pytest.mark.parametrize("phi", [0.0, 0.6])
def test_error_is_that_over_repetitions_also_with_shared_minibatches(phi, common):
    random = np.random.default_rng(0)
    trace = lfilter([1], [1, -phi], random.normal(size=(150, 4, 140)))[..., -40:]
    trace += common * random.normal(size=(150, 1, 40))
    moved, error = np.array([drift(one) for one in trace]).T
    assert np.sqrt((error**2).mean()) == pytest.approx(moved.std(), rel=0.25)
    assert (abs(moved) > 3 * error).mean() < 0.04


def test_a_trace_that_still_rises_is_seen():
    random = np.random.default_rng(1)
    trace = random.normal(size=(50, 4, 20)) + np.linspace(0, 3, 20)
    moved, error = np.array([drift(one) for one in trace]).T
    assert (moved > 3 * error).mean() > 0.9
