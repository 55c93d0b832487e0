import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal

from rllc.estimator.diagnostics.acceptance import acceptance_null
from rllc.estimator.samplers.chains import State, noise_stream
from rllc.estimator.samplers.coordinates import coordinates
from rllc.estimator.samplers.sample import sample
from rllc.estimator.samplers.sgld import advance, move
from rllc.sampler_config import SamplerConfig

SETTING = {"n_beta": 2.0, "localization": 3.0, "step_size": 0.05}


def run(loss, weights, batches=(None,), masks=None, **setting):
    selected = {"c": coordinates(weights, masks, component="c")}
    vectorize = setting.pop("vectorize", False)
    given = SamplerConfig(**{"chains": 1, **setting})
    return sample(loss, weights, batches, components=selected, setting=given, vectorize=vectorize)


def test_one_move_is_the_formula():
    random = torch.Generator().manual_seed(0)
    w, center, gradient, noise = (torch.randn(5, generator=random, dtype=torch.float64) for _ in range(4))
    expected = w - 0.02 / 2 * (3.0 * gradient + 7.0 * (w - center)) + math.sqrt(0.02) * noise
    setting = {"center": center, "noise": noise, "n_beta": 3.0, "localization": 7.0, "step_size": 0.02}
    assert torch.allclose(move(w.clone(), gradient=gradient, **setting), expected, rtol=1e-14)
    control = w - 0.02 / 2 * 7.0 * (w - center) + math.sqrt(0.02) * noise
    assert torch.allclose(move(w.clone(), gradient=None, **setting), control, rtol=1e-14)


def test_draws_are_the_documented_ones():
    """By hand, from the contract: sorted names, row-major, True coordinates only, one randn per move."""
    weights = {"b": torch.arange(4.0).reshape(2, 2), "a": torch.arange(3.0), "c": torch.ones(2)}
    masks = {"b": torch.tensor([[True, False], [True, True]]), "a": torch.tensor([False, True, True])}

    def loss(weights, batch):
        return (weights["a"] ** 2).sum() + (weights["b"] ** 3).sum() + batch * weights["c"].sum()

    batches = [1.0, 2.0]
    traces = run(loss, weights, batches, masks, chains=2, draws=4, **SETTING | {"seed": 9})
    for chain in range(2):
        stream = noise_stream(9, "c", chain, torch.device("cpu"))
        a, b = weights["a"].clone(), weights["b"].clone()
        for t in range(4):
            now = (a**2).sum() + (b**3).sum() + batches[t % 2] * 2
            assert float(traces.loss[0, chain, t]) == pytest.approx(float(now), rel=1e-6)
            n = torch.randn(5, generator=stream)
            noise_a = torch.tensor([0, n[0], n[1]])
            noise_b = torch.tensor([[n[2], 0], [n[3], n[4]]])
            drift_a = 2 * 2 * a + 3 * (a - weights["a"])
            drift_b = 2 * 3 * b**2 + 3 * (b - weights["b"])
            a = a - 0.025 * masks["a"] * drift_a + math.sqrt(0.05) * noise_a
            b = b - 0.025 * masks["b"] * drift_b + math.sqrt(0.05) * noise_b
    assert traces.at_center.tolist() == pytest.approx([43.0, 45.0, 43.0, 45.0])


def test_acceptance_is_that_of_the_metropolis_rule():
    """By hand: the posterior of each minibatch at both ends, and the two proposal densities."""
    center, h = torch.tensor([0.5, -1.0, 2.0]).double(), torch.tensor([4.0, 20.0, 1.0]).double()
    batches = [torch.tensor(v).double() for v in ([0.3, 0.1, 0.0], [0.0, -0.4, 1.0], [1.0, 1.0, 1.0])]

    def loss(weights, batch):
        return 0.5 * (h * (weights["w"] - batch) ** 2).sum() + batch.sum()

    def pull(w, batch):
        return 2 * h * (w - batch) + 3 * (w - center)

    def energy(w, batch):
        risen = loss({"w": w}, batch) - loss({"w": center}, batch)
        return 2 * risen + 1.5 * (w - center).square().sum()

    def proposal(to, w, batch):
        return Normal(w - 0.025 * pull(w, batch), math.sqrt(0.05)).log_prob(to).sum()

    traces = run(loss, {"w": center}, batches, draws=30, **SETTING)
    stream, w = noise_stream(0, "c", 0, torch.device("cpu")), center
    expected = []
    for t in range(28):
        noise = torch.randn(3, generator=stream, dtype=torch.float64)
        old, here, there = w, batches[t % 3], batches[(t + 1) % 3]
        w = old - 0.025 * pull(old, here) + math.sqrt(0.05) * noise
        alpha = energy(old, here) - energy(w, there) + proposal(old, w, there) - proposal(w, old, here)
        expected.append(min(1.0, math.exp(alpha)))
    assert 0.05 < np.mean(expected) < 0.95
    assert traces.acceptance[0, 0, 1:-1].tolist() == pytest.approx(expected, rel=1e-9)
    assert traces.acceptance[..., [0, -1]].isnan().all()
    assert run(loss, {"w": center}, batches, draws=5, gradient=False, **SETTING).acceptance.isnan().all()


def test_acceptance_of_a_constant_loss_is_the_null():
    size, setting = 2000, {"localization": 200.0, "step_size": 1e-3}

    def loss(weights, batch):  # constant but for a direction without measure, so that there is a gradient
        return 3.0 + 1e-12 * weights["w"].sum()

    flat = {"w": torch.full((size,), 3.0)}
    traces = run(loss, flat, n_beta=30.0, chains=200, draws=30, vectorize=True, **setting)
    seen = traces.acceptance[0, :, 1:-1].numpy()
    null = acceptance_null(size=size, draws=30, **setting)[1:-1]
    assert (abs(seen.mean(0) - null) < 4 * seen.std(0) / math.sqrt(200) + 0.01).all()


def test_acceptance_in_single_precision_at_the_size_of_a_published_head():
    size, random = 32_864, torch.Generator().manual_seed(0)
    center, *rest = (torch.randn(size, generator=random) for _ in range(5))
    setting = SamplerConfig(n_beta=30.0, localization=200.0, step_size=1e-3, chains=1, draws=3)
    probabilities = {}
    for dtype in (torch.float32, torch.float64):
        noise, first, second, start = (x.to(dtype) for x in rest)
        # an equilibrated position: a chain at the centre is rejected always
        positions, memory = (center.to(dtype) + start / math.sqrt(200 * 0.95))[None], None
        for slope, value in ((first, 3.1), (second, 3.24)):
            state = State(
                positions, center.to(dtype), torch.tensor([value]).to(dtype), 1e-3 * slope[None],
                iter([noise[None]]), torch.tensor(3.0), records=True, records_next=True,
            )  # fmt: skip
            accepted, memory = advance(setting, state, memory)
        probabilities[dtype] = float(accepted)
    assert 0.1 < probabilities[torch.float64] < 0.9
    assert probabilities[torch.float32] == pytest.approx(probabilities[torch.float64], rel=0.01)
