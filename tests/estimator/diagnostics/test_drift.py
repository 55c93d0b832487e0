import numpy as np
import pytest
from scipy.signal import lfilter

from rllc.estimator.diagnostics.drift import drift, half_length_change


def test_is_the_last_half_less_the_first():
    trace = np.array([[0.0, 1, 9, 4, 6], [1, 2, 9, 5, 9]])
    assert drift(trace)[0] == pytest.approx(6 - 1)
    assert np.isnan(drift(trace)[1])  # two draws have no error
    assert np.isnan(drift(np.zeros((0, 8)))).all()
    assert np.isnan(drift(np.zeros((2, 1)))).all()
    assert drift(np.ones((2, 8))) == (0, 0)
    random = np.random.default_rng(0)  # an error takes four draws in each half
    assert np.isnan(drift(random.normal(size=(4, 7)))[1]) and drift(random.normal(size=(4, 8)))[1] > 0


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


def test_growth_is_what_chains_of_half_the_length_did_not_find():
    trace = np.array([[0.0, 5, 1, 3, 9, 4, 6, 2, 8], [1, 7, 2, 0, 9, 5, 9, 2, 2]])
    assert half_length_change(trace, burn_in=3)[0] == pytest.approx(
        trace[:, 3:].mean() - trace[:, 1:4].mean()
    )
    assert half_length_change(trace, burn_in=0)[0] == pytest.approx(trace.mean() - trace[:, :4].mean())
    assert np.isnan(half_length_change(trace, burn_in=3)[1])  # three draws have no error
    trace[0, 0] = np.nan
    for unknown in (trace, trace[:0], trace[:, :1]):
        assert np.isnan(half_length_change(unknown, burn_in=0)).all()


@pytest.mark.parametrize("rate", [0.5, 2.0, 8.0])
def test_what_a_trace_lacks_is_about_the_square_of_what_it_gained(rate):
    """Of a trace that relaxes at one rate after a burn-in of half; without a burn-in it lacks what it gained."""
    trace = 1 - np.exp(-rate * np.arange(4000) / 4000)[None]
    gained, mean = half_length_change(trace, burn_in=2000)[0], trace[:, 2000:].mean()
    share = gained / mean
    assert 1 - mean == pytest.approx((share / (1 - share)) ** 2, rel=0.5)
    if rate > 6:
        assert half_length_change(trace, burn_in=0)[0] == pytest.approx(1 - trace.mean(), rel=0.1)


def test_errors_of_growth_are_those_over_repetitions():
    random = np.random.default_rng(2)
    trace = lfilter([1], [1, -0.6], random.normal(size=(150, 4, 200)))[..., -100:]
    for burn_in, room in ((50, 1.3), (0, 2.0)):  # without burn-in the two have draws in common
        moved, error = np.array([half_length_change(one, burn_in=burn_in) for one in trace]).T
        assert moved.std() / 1.25 < np.sqrt((error**2).mean()) < room * moved.std()


def test_what_noise_hides_from_the_effective_size_is_seen_between_chains():
    """Two chains go up, two go down, by half of the noise of a draw."""
    trace = np.random.default_rng(5).normal(size=(4, 100))
    trace[:, 50:] += np.array([0.5, -0.5, 0.6, -0.4])[:, None]
    apart = trace[:, 50:].mean(1) - trace[:, 25:50].mean(1)
    assert half_length_change(trace, burn_in=50) == pytest.approx((apart.mean(), apart.std(ddof=1) / 2))
