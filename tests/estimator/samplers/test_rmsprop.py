import math

import numpy as np
import pytest
import torch

from rllc.estimator.samplers.chains import noise_stream
from rllc.estimator.samplers.coordinates import coordinates
from rllc.estimator.samplers.sample import sample
from rllc.sampler_config import SamplerConfig


def run(loss, weights, batches=(None,), **setting):
    selected = {"c": coordinates(weights, None, component="c")}
    options = {name: setting.pop(name) for name in ("decay", "stabilizer") if name in setting}
    given = SamplerConfig(**{"chains": 1, "sampler": "rmsprop", **setting}, sampler_options=options)
    return sample(loss, weights, batches, components=selected, setting=given)


@pytest.mark.parametrize("gradient", [True, False])
def test_draws_are_those_of_a_second_implementation(gradient):
    """In NumPy, with V as an explicit weighted mean of all squared gradients up to now."""
    h, start = np.array([1.0, 30.0, 0.2]), np.array([0.5, -0.3, 1.0])
    batches = [np.array(b) for b in ([0.1, 0.0, 0.3], [-0.2, 0.1, 0.0])]

    def loss(weights, batch):
        return (torch.from_numpy(h) * (weights["w"] - torch.from_numpy(batch)) ** 4).sum()

    n_beta, gamma, eps, decay, stabilizer = 20.0, 4.0, 0.01, 0.8, 0.3
    traces = run(
        loss, {"w": torch.from_numpy(start)}, batches, chains=2, draws=6, thinning=2, gradient=gradient,
        n_beta=n_beta, localization=gamma, step_size=eps, decay=decay, stabilizer=stabilizer,
    )  # fmt: skip
    for chain in range(2):
        stream, w, gradients, losses = noise_stream(0, "c", chain, torch.device("cpu")), start, [], []
        for move in range(11):
            batch = batches[move % 2]
            losses.append((h * (w - batch) ** 4).sum())
            gradients.append(4 * h * (w - batch) ** 3)
            powers = decay ** np.arange(move, -1, -1.0)
            v = (powers[:, None] * np.square(gradients)).sum(0) / powers.sum()
            g = 1 / (stabilizer + np.sqrt(v))
            noise = torch.randn(3, generator=stream, dtype=torch.float64).numpy()
            pull = gamma * (w - start) + (n_beta * gradients[-1] if gradient else 0)
            w = w - eps / 2 * g * pull + np.sqrt(eps * g) * noise
        assert traces.loss[0, chain].tolist() == pytest.approx(losses[::2], rel=1e-10)
    assert traces.acceptance.isnan().all()


def test_a_constant_gradient_gives_the_exact_law_of_a_fixed_preconditioner():
    """Slopes from 0.01 to 10: V = slope^2 always, so each coordinate is a linear chain of its own step."""
    copies, draws, n_beta, gamma, eps, stabilizer = 20_000, 40, 3.0, 5.0, 0.02, 0.05
    for slope in (0.01, 1.0, 10.0):
        seen = []

        def loss(weights, batch, slope=slope, seen=seen):
            seen.append(weights["w"].detach().clone())
            return slope * weights["w"].sum()

        run(
            loss, {"w": torch.full((copies,), 2.0)}, draws=draws, n_beta=n_beta, localization=gamma,
            step_size=eps, stabilizer=stabilizer,
        )  # fmt: skip
        step = eps / (stabilizer + slope)
        a, mean, variance = 1 - step * gamma / 2, 2.0, 0.0
        for _ in range(draws - 1):
            mean = mean - step / 2 * (n_beta * slope + gamma * (mean - 2.0))
            variance = a**2 * variance + step
        w = seen[-1].double()
        assert float(w.mean()) == pytest.approx(mean, abs=4 * math.sqrt(variance / copies))
        assert float(w.var()) == pytest.approx(variance, rel=4 * math.sqrt(2 / copies))
    # with small steps that law is the posterior's: mean 2 - n_beta slope / gamma, variance 1 / gamma
    assert step / (1 - a**2) == pytest.approx(1 / gamma, rel=0.01)


COPIES = 500  # independent wells in one vector


def llc_of_a_well(h, *, draws, **setting):
    """n_beta * mean loss over the last half of the draws, from 1 posterior sd beside the bottoms of the wells."""
    h = torch.tensor(h, dtype=torch.float64)[:, None]
    start = (setting["n_beta"] * h).rsqrt().expand(-1, COPIES).clone()
    traces = run(lambda w, b: 0.5 * (h * w["w"] ** 2).sum(), {"w": start}, draws=draws, **setting)
    return setting["n_beta"] * float(traces.loss[..., draws // 2 :].mean()) / COPIES


def test_with_a_long_memory_small_steps_lead_to_the_posterior_of_an_ill_conditioned_well():
    h, n_beta, gamma, stabilizer = (1.0, 100.0), 10.0, 1.0, 1e-3

    def law(step_size):
        """Of a preconditioner held at its mean; the start pulls the mean off the bottom of the well."""
        total = 0.0
        for curvature in h:
            p = n_beta * curvature + gamma
            g = 1 / (stabilizer + curvature / math.sqrt(p))
            squared_mean = (gamma / p) ** 2 / (n_beta * curvature)
            total += n_beta * curvature / 2 * (squared_mean + 1 / (p * (1 - step_size * g * p / 4)))
        return total

    setting = {"n_beta": n_beta, "localization": gamma, "stabilizer": stabilizer, "decay": 0.99999}
    found = {eps: llc_of_a_well(h, draws=2000, step_size=eps, **setting) for eps in (1e-3, 2e-3)}
    for eps, llc in found.items():
        assert llc == pytest.approx(law(eps), rel=0.02)
    posterior = law(0.0)
    assert found[2e-3] > 1.05 * posterior
    assert 2 * found[1e-3] - found[2e-3] == pytest.approx(posterior, rel=0.02)


def test_without_memory_the_law_has_too_much_mass_at_large_gradients():
    """decay 0: G is a function of the position, and the law is exp(-U) / G by coordinate."""
    n_beta, gamma, h, stabilizer = 10.0, 1.0, 2.0, 0.2
    w = np.linspace(-4, 4, 200_001)
    density = np.exp(-(n_beta * h + gamma) * w**2 / 2) * (stabilizer + h * abs(w))
    biased = n_beta * h / 2 * (w**2 * density).sum() / density.sum()
    exact = 0.5 * n_beta * h / (n_beta * h + gamma)
    assert biased > 1.4 * exact
    found = llc_of_a_well(
        [h], draws=1500, decay=0.0, step_size=1e-3, n_beta=n_beta, localization=gamma, stabilizer=stabilizer
    )
    assert found == pytest.approx(biased, rel=0.03)
