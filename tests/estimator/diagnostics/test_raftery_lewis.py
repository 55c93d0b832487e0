from math import ceil, log

import numpy as np
import pytest

from rllc.estimator.diagnostics.raftery_lewis import _run_length, raftery_lewis, second_order_bic

PHI = 1.959964


def two_states(alpha, beta, length, seed=0):
    random = np.random.default_rng(seed)
    state, steps = [0], random.random(length)
    for step in steps:
        state.append(int(step < alpha) if state[-1] == 0 else int(step >= beta))
    return np.array(state)


def test_shortest_chain_is_the_published_one():
    """937 at r = 0.01."""
    chains = np.random.default_rng(0).normal(size=(2, 937))
    assert np.isfinite(raftery_lewis(chains)).all()
    assert np.isnan(raftery_lewis(chains[:, 1:])).all()


def test_a_chain_is_judged_with_the_published_precision():
    """q = 0.025 to within r = 0.01 with s = 0.95, and a burn-in to within 0.01."""
    chain = np.random.default_rng(1).normal(size=3000).cumsum()
    below = (chain <= np.quantile(chain, 0.025)).astype(int)
    total = _run_length(below, phi=PHI, r=0.01, precision=0.01)[2]
    assert raftery_lewis(chain[None]) == pytest.approx([total / 937])
    assert total != _run_length(below, phi=PHI, r=0.01, precision=0.02)[2]


def test_formulas_on_a_small_series():
    state = np.array([0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0])  # first order is enough
    assert second_order_bic(state) < 0
    alpha, beta = 3 / 10, 3 / 6  # of 10 steps from 0, 3 rise; of 6 from 1, 3 fall
    burn_in = ceil(log(0.02 * 0.8 / 0.5) / log(0.2))
    kept = ceil((2 - 0.8) * alpha * beta * PHI**2 / (0.8**3 * 0.1**2))
    assert _run_length(state, phi=PHI, r=0.1, precision=0.02) == (1, burn_in, burn_in + kept)


def test_bic_of_triples_written_out():
    state = two_states(0.3, 0.4, 60)
    counts = np.zeros((2, 2, 2))
    for i, j, k in zip(state, state[1:], state[2:], strict=False):
        counts[i, j, k] += 1
    g2 = 0.0
    for i, j, k in np.argwhere(counts):
        fitted = counts[i, j].sum() * counts[:, j, k].sum() / counts[:, j].sum()
        g2 += 2 * counts[i, j, k] * log(counts[i, j, k] / fitted)
    assert second_order_bic(state) == pytest.approx(g2 - 2 * log(counts.sum()))


@pytest.mark.parametrize(("alpha", "beta"), [(0.025, 0.975), (0.01, 0.2), (0.05, 0.1)])
def test_known_transition_probabilities_are_found(alpha, beta):
    thin, _, total = _run_length(two_states(alpha, beta, 200_000), phi=PHI, r=0.01, precision=0.01)
    both = alpha + beta
    known = (2 - both) * alpha * beta * PHI**2 / (both**3 * 0.01**2)
    known += log(0.01 * both / max(alpha, beta)) / log(abs(1 - both)) if both != 1 else 0
    assert thin == 1
    assert total == pytest.approx(known, rel=0.1)


def test_a_chain_of_second_order_is_thinned():
    random, state = np.random.default_rng(0), [0, 0]
    for _ in range(5000):
        state.append(state[-2] if random.random() < 0.9 else 1 - state[-2])
    assert _run_length(np.array(state), phi=PHI, r=0.01, precision=0.01)[0] > 1


def test_independent_draws_need_what_they_need_and_dependent_ones_more():
    noise = np.random.default_rng(3).normal(size=(3, 8000))
    walk = np.zeros_like(noise)
    for t in range(1, noise.shape[1]):
        walk[:, t] = 0.95 * walk[:, t - 1] + noise[:, t]
    assert raftery_lewis(noise) == pytest.approx(np.ones(3), abs=0.15)
    assert (raftery_lewis(walk) > 5).all()


def test_degenerate_chains_have_none():
    chains = np.ones((3, 1000))
    chains[1, 5] = np.nan
    chains[2] = np.r_[np.zeros(25), np.ones(975)]  # leaves a state and never comes back
    assert np.isnan(raftery_lewis(chains)).all()
