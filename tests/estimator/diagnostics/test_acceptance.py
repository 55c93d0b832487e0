import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from rllc.estimator.diagnostics.acceptance import acceptance, acceptance_null


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-4, 0.5), st.sampled_from([1, 3, 8]))
def test_probability_is_the_ratio_of_densities_written_out(seed, step_size, size):
    random = np.random.default_rng(seed)
    old, noise = random.normal(size=(2, size))
    hessian, localization, n_beta = random.uniform(0.1, 3, size), 2.0, 5.0

    def energy(w):
        return n_beta * 0.5 * (hessian * w**2).sum() + localization / 2 * (w**2).sum()

    def pull(w):
        return n_beta * hessian * w + localization * w

    def log_q(to, start):  # density of the proposal start -> to
        return multivariate_normal.logpdf(to, start - step_size / 2 * pull(start), step_size * np.eye(size))

    new = old - step_size / 2 * pull(old) + step_size**0.5 * noise
    log_alpha = energy(old) - energy(new) + log_q(old, new) - log_q(new, old)
    found = acceptance(
        old_pull=torch.tensor(pull(old)), new_pull=torch.tensor(pull(new)), noise=torch.tensor(noise),
        energy_rise=torch.tensor(energy(new) - energy(old)), step_size=step_size,
    )  # fmt: skip
    assert found.dtype == torch.float64
    assert float(found) == pytest.approx(min(1, np.exp(log_alpha)), rel=1e-6)


def test_what_is_not_finite_is_nan():
    given = {"new_pull": torch.ones(2, 3), "noise": torch.zeros(2, 3), "step_size": 0.1}
    pulls = torch.tensor([[1.0, 1, 1], [1, float("nan"), 1]])
    found = acceptance(old_pull=pulls, energy_rise=torch.tensor([float("nan"), 0]), **given)
    assert found.isnan().all()


def test_single_precision_is_enough_for_a_whole_model():
    size, step_size, localization = 400_000, 1e-3, 200.0
    random = torch.Generator().manual_seed(0)
    old = torch.randn(size, generator=random, dtype=torch.float64) / localization**0.5
    noise = torch.randn(size, generator=random, dtype=torch.float64)
    new = old - step_size / 2 * localization * old + step_size**0.5 * noise
    rise = localization / 2 * (new.square().sum() - old.square().sum())
    given = {"old_pull": localization * old, "new_pull": localization * new, "noise": noise}
    exact = acceptance(**given, energy_rise=rise, step_size=step_size)
    single = {name: value.float() for name, value in given.items()}
    assert 0 < exact < 1
    assert float(acceptance(**single, energy_rise=rise, step_size=step_size)) == pytest.approx(
        float(exact), abs=0.01
    )


@pytest.mark.parametrize(("size", "tolerance"), [(1, 0.003), (10, 0.005), (100, 0.007), (32_864, 0.012)])
def test_null_is_that_of_chains_pulled_by_localization_alone(size, tolerance):
    """|x|^2 of such a chain needs three random numbers per move, in any dimension."""
    step_size, localization, draws = 1e-3, 200.0, 41
    random = np.random.default_rng(0)
    a, k = 1 - step_size * localization / 2, step_size * localization**2 / 8
    square, found = np.zeros(10_000), []
    for _ in range(draws - 1):
        along = a * np.sqrt(square) + step_size**0.5 * random.normal(size=square.shape)
        after = along**2 + (step_size * random.chisquare(size - 1, square.shape) if size > 1 else 0)
        found.append(np.minimum(1, np.exp(k * (square - after))).mean())
        square = after
    null = acceptance_null(size=size, localization=localization, step_size=step_size, draws=draws)
    assert np.isnan(null[0])
    assert null[1:] == pytest.approx(np.array(found), abs=tolerance)
    thinned = acceptance_null(size=size, localization=localization, step_size=step_size, draws=9, thinning=5)
    assert thinned[1:] == pytest.approx(null[5::5])


def test_null_in_equilibrium_falls_with_the_dimension_to_one_half():
    last = [
        acceptance_null(size=size, localization=200.0, step_size=1e-3, draws=200)[-1]
        for size in (100, 16_480, 32_864, 412_416, 10**12)
    ]
    assert last == pytest.approx([0.92, 0.62, 0.59, 0.53, 0.5], abs=0.005)


def test_limits_of_the_null():
    assert acceptance_null(size=50, localization=0.0, step_size=0.1, draws=5)[1:] == pytest.approx(np.ones(4))
    assert np.isnan(acceptance_null(size=5, localization=1.0, step_size=0.1, draws=1)).all()
    unstable = acceptance_null(size=1000, localization=5.0, step_size=1.0, draws=400)
    assert np.isfinite(unstable[1:]).all()
    assert unstable[1:].max() < 1e-50
