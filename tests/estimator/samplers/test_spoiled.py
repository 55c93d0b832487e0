"""Checks of the sampler against exact laws, and that each of them catches a sampler spoiled on purpose."""

import math
from dataclasses import replace

import pytest
import torch

from rllc.estimator import llc, results
from rllc.estimator.samplers import chains, sample, sgld
from rllc.estimator.samplers.coordinates import coordinates
from rllc.sampler_config import SamplerConfig

COPIES = 40_000  # independent copies of a small well in one vector: that many chains for the price of one
SETTING = {"n_beta": 30.0, "localization": 5.0, "step_size": 0.01, "draws": 200, "chains": 1, "seed": 0}


def well_moments(h, n_beta, localization, step_size, draws, copies, noise=0.0):
    """Exact mean and sd, over chains, of the draw-averaged n_beta * 1/2 sum h w^2 (discretised, from w* = 0).

    w_{t+1} = a w_t + N(0, q): var_t = q (1 - a^2t) / (1 - a^2), cov(w_s^2, w_t^2) = 2 (a^(t-s) var_s)^2.
    """
    mean, variance = 0.0, 0.0
    t = torch.arange(draws, dtype=torch.float64)
    for curvature in h:
        a = 1 - step_size * (n_beta * curvature + localization) / 2
        q = step_size + (step_size * n_beta * noise / 2) ** 2
        var = q * (1 - a ** (2 * t)) / (1 - a**2)
        earlier = torch.minimum(t[:, None], t[None]).long()
        covariance = a ** (t[:, None] - t[None]).abs() * var[earlier]
        mean += 0.5 * n_beta * curvature * var.mean()
        variance += (0.5 * n_beta * curvature) ** 2 * 2 * (covariance**2).mean()
    return float(mean), math.sqrt(float(variance) / copies)


def quadratic(h, bottom=0.0):
    """The mean over copies of the loss of one: n_beta times COPIES gives each copy its own n_beta."""
    h = torch.tensor(h)[:, None]
    return lambda weights, batch: 0.5 * (h * (weights["w"] - bottom) ** 2).sum(0).mean()


def run(loss, weights, batches=(None,), masks=None, components=("c",), **setting):
    selected = {name: coordinates(weights, masks, component=name) for name in components}
    return sample.sample(
        loss, weights, batches, components=selected, setting=SamplerConfig(**SETTING | setting)
    )


def transient():
    traces = run(quadratic([1.0, 3.0, 0.5]), {"w": torch.zeros(3, COPIES)}, n_beta=30.0 * COPIES)
    expected, sd = well_moments([1.0, 3.0, 0.5], 30, 5, 0.01, 200, COPIES)
    assert expected == pytest.approx(1.46360, abs=5e-5)  # worked by hand
    assert 30 * float(traces.loss.mean()) == pytest.approx(expected, abs=4 * sd)


def stationary():
    h = [1.0, 3.0, 0.5]
    traces = run(quadratic(h), {"w": torch.zeros(3, COPIES)}, n_beta=30.0 * COPIES, draws=120)
    exact = sum(30 * c / (p * (1 - 0.01 * p / 4)) for c in h for p in [30 * c + 5]) / 2
    assert exact == pytest.approx(1.48563, abs=5e-6)
    _, sd = well_moments(h, 30, 5, 0.01, 60, COPIES)
    assert 30 * float(traces.loss[..., 60:].mean()) == pytest.approx(exact, abs=4 * sd + 1e-3)


def minibatch_noise():
    draws, s = 300, 0.3
    random = torch.Generator().manual_seed(1)
    batches = [s * torch.randn(1, COPIES, generator=random) for _ in range(draws)]

    def loss(weights, slope):
        return (0.5 * 2 * weights["w"] ** 2 + slope * weights["w"]).sum(0).mean()

    setting = {"n_beta": 50.0 * COPIES, "localization": 10.0, "step_size": 0.004, "draws": draws}
    traces = run(loss, {"w": torch.zeros(1, COPIES)}, batches, **setting)
    expected, sd = well_moments([2.0], 50, 10, 0.004, draws, COPIES, noise=s)
    # the linear term adds variance 50^2 s^2 var_t / COPIES per draw, independent over draws
    sd = math.hypot(sd, 50 * s * math.sqrt(0.025 / COPIES / draws))
    assert 50 * float(traces.loss.mean()) == pytest.approx(expected, abs=4 * sd)
    long_run, _ = well_moments([2.0], 50, 10, 0.004, 2500, COPIES, noise=s)
    assert long_run == pytest.approx(0.62564, abs=2e-3)  # worked by hand


def pull_to_the_centre():
    h, bottom, w_star = 2.0, 1.0, 3.0  # the well's bottom is not w*: the mean lies between them
    n_beta, gamma, eps = 10.0, 5.0, 0.01
    traces = run(
        quadratic([h], bottom), {"w": torch.full((1, COPIES), w_star)}, n_beta=n_beta * COPIES,
        localization=gamma, step_size=eps, draws=300,
    )  # fmt: skip
    p = n_beta * h + gamma
    mean = (n_beta * h * bottom + gamma * w_star) / p
    variance = 1 / (p * (1 - eps * p / 4))
    expected = 0.5 * h * ((mean - bottom) ** 2 + variance)
    sd = h * math.sqrt((mean - bottom) ** 2 * variance + variance**2 / 2) / math.sqrt(COPIES)
    assert float(traces.loss[..., -100:].mean()) == pytest.approx(expected, abs=4 * sd)


def only_the_mask_moves():
    h, frozen = torch.tensor([1.0, 3.0, 0.5])[:, None], torch.full((2,), 7.0)
    w = torch.zeros(3, COPIES)
    w[1] = 0.25
    mask = torch.ones(3, COPIES, dtype=torch.bool)
    mask[1] = False

    moved = []

    def loss(weights, batch):
        moved.append(not torch.equal(weights["w"][1], w[1]) or not torch.equal(weights["frozen"], frozen))
        return 0.5 * (h * weights["w"] ** 2).sum(0).mean()

    traces = run(loss, {"w": w, "frozen": frozen}, masks={"w": mask}, n_beta=30.0 * COPIES)
    expected, sd = well_moments([1.0, 0.5], 30, 5, 0.01, 200, COPIES)
    assert 30 * float((traces.loss - traces.at_center).mean()) == pytest.approx(expected, abs=4 * sd)
    assert not any(moved)
    assert w.unique(dim=1).flatten().tolist() == [0.0, 0.25, 0.0]  # the caller's tensor is untouched


def noise_of_ones_own():
    traces = run(quadratic([1.0] * 3), {"w": torch.zeros(3, 1)}, components="abcd", chains=100, draws=3)
    drawn = traces.loss[..., 1]
    assert len(drawn.unique()) == 400
    # 1/2 w^2 of 3 coordinates after one move: mean 3 eps / 2, sd eps sqrt(3 / 2) over independent chains
    assert float(drawn.mean()) == pytest.approx(1.5 * 0.01, abs=4 * 0.01 * math.sqrt(1.5) / 20)


def losses_are_of_the_positions_and_batches_of_the_draws():
    batches = [torch.full((3,), 0.1 * k) for k in range(5)]

    def loss(weights, batch):
        return 0.5 * (weights["w"] - batch).square().sum()

    traces = run(loss, {"w": torch.ones(3)}, batches, chains=2, draws=12, step_size=1e-14)  # it stays
    expected = torch.tensor([1.5 * (1 - 0.1 * (t % 5)) ** 2 for t in range(12)]).double()
    torch.testing.assert_close(traces.at_center, expected, rtol=1e-5, atol=0)
    torch.testing.assert_close(traces.loss, expected.expand(1, 2, 12), rtol=1e-5, atol=0)
    traces = run(loss, {"w": torch.ones(3)}, batches[:1], chains=2, draws=12)
    assert torch.equal(traces.loss[..., 0], traces.at_center[:1].expand(1, 2))  # draw 0 is at w*
    assert (traces.loss[..., 1] != traces.at_center[1]).all()


def gradients_are_of_the_batch_of_the_draw():
    batches = [torch.tensor(1000.0), torch.tensor(0.0), torch.tensor(0.0)]  # only batch 0 pulls
    traces = run(
        lambda w, b: (b * w["w"]).sum() + w["w"].sum(), {"w": torch.zeros(1)}, batches, n_beta=1.0, draws=3
    )
    # batch 0's gradient moves w by -step_size/2 * 1001 = -5.005 +- 0.1 before draw 1
    assert float(traces.loss[0, 0, 1]) == pytest.approx(-5.005, abs=0.5)


def burn_in_drops_the_first_draws():
    given = {key: value for key, value in SETTING.items() if key != "draws"}
    ds = llc.estimate(
        lambda w, b: w["w"].square().sum(), {"w": torch.zeros(2)}, [None], components={"c": None},
        burn_in=3, draws=8, **given,
    )  # fmt: skip
    rise = ds.loss.values - ds.loss_at_center.values
    assert float(ds.llc[0]) == pytest.approx(30 * rise[..., 3:].mean())


CHECKS = [
    transient, stationary, minibatch_noise, pull_to_the_centre, only_the_mask_moves, noise_of_ones_own,
    losses_are_of_the_positions_and_batches_of_the_draws, gradients_are_of_the_batch_of_the_draw,
    burn_in_drops_the_first_draws,
]  # fmt: skip


def spoil_move(change):
    """A spoil that passes other arguments to the move."""

    def spoil(patch):
        sound = sgld.move
        patch.setattr(sgld, "move", lambda w, **given: sound(w, **given | change(w, given)))

    return spoil


def spoil_stream(change):
    def spoil(patch):
        sound = chains.noise_stream
        patch.setattr(chains, "noise_stream", lambda *name: sound(*change(*name)))

    return spoil


def spoil_sample(spoiled):
    def spoil(patch):
        sound = sample.sample
        patch.setattr(sample, "sample", lambda *args, **given: spoiled(sound, *args, **given))

    return spoil


def all_coordinates(sound, loss, weights, batches, *, components, **given):
    components = {name: coordinates(weights, None, component=name) for name in components}
    return sound(loss, weights, batches, components=components, **given)


def recorded_after_the_move(sound, loss, weights, batches, *, setting, **given):
    longer = replace(setting, draws=setting.draws + 1)
    traces = sound(loss, weights, batches, setting=longer, **given)
    return traces._replace(loss=traces.loss[..., 1:], at_center=traces.at_center[:-1])


def batch_of_the_draw_before(sound, loss, weights, batches, **given):
    at_center = sound(loss, weights, batches, **given).at_center
    shifted = [batches[k - 1] for k in range(len(batches))]
    return sound(loss, weights, shifted, **given)._replace(at_center=at_center)


def spoil_gradient(patch):
    """The gradient is of the batch before the one whose loss is recorded."""
    sound, before = sample.losses_and_gradients, []

    def stale(loss, weights, selected, positions, batch, **given):
        before.append(batch)
        values, slopes = sound(loss, weights, selected, positions, batch, **given)
        if slopes is not None and len(before) > 1:
            slopes = sound(loss, weights, selected, positions, before[-2], **given)[1]
        elif slopes is not None:
            slopes = torch.zeros_like(slopes)
        return values, slopes

    patch.setattr(sample, "losses_and_gradients", stale)


def spoil_burn_in(patch):
    sound = results.summarise

    def shorter(traces, *, setting, **given):
        return sound(traces, setting=replace(setting, burn_in=setting.burn_in - 1), **given)

    patch.setattr(results, "summarise", shorter)


SPOILED = {
    "no 1/2 in the drift": (
        spoil_move(lambda w, g: {"n_beta": 2 * g["n_beta"], "localization": 2 * g["localization"]}),
        transient,
    ),
    "no 1/2 in the drift, late": (
        spoil_move(lambda w, g: {"n_beta": 2 * g["n_beta"], "localization": 2 * g["localization"]}),
        stationary,
    ),
    "no 1/2 in the localisation": (spoil_move(lambda w, g: {"localization": 2 * g["localization"]}), transient),
    "half the localisation": (spoil_move(lambda w, g: {"localization": g["localization"] / 2}), transient),
    "no gradient": (spoil_move(lambda w, g: {"gradient": None}), transient),
    "noise not scaled by the root of the step": (
        spoil_move(lambda w, g: {"noise": g["noise"] / g["step_size"] ** 0.5}), transient,
    ),
    "noise scaled by the step": (
        spoil_move(lambda w, g: {"noise": g["noise"] * g["step_size"] ** 0.5}), transient,
    ),
    "gradient of a mean over 1.05 batches": (
        spoil_move(lambda w, g: {"gradient": g["gradient"] / 1.05}), minibatch_noise,
    ),
    "a pull to 0": (spoil_move(lambda w, g: {"center": torch.zeros_like(w)}), pull_to_the_centre),
    "a pull to where it is": (spoil_move(lambda w, g: {"center": w.clone()}), pull_to_the_centre),
    "no mask": (spoil_sample(all_coordinates), only_the_mask_moves),
    "chains share their noise": (
        spoil_stream(lambda seed, component, chain, device: (seed, component, 0, device)), noise_of_ones_own,
    ),
    "components share their noise": (
        spoil_stream(lambda seed, component, chain, device: (seed, "", chain, device)), noise_of_ones_own,
    ),
    "recorded after the move": (
        spoil_sample(recorded_after_the_move), losses_are_of_the_positions_and_batches_of_the_draws,
    ),
    "the batch of the draw before": (
        spoil_sample(batch_of_the_draw_before), losses_are_of_the_positions_and_batches_of_the_draws,
    ),
    "the gradient of the batch before": (spoil_gradient, gradients_are_of_the_batch_of_the_draw),
    "one draw of burn-in kept": (spoil_burn_in, burn_in_drops_the_first_draws),
}  # fmt: skip


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_sampler_is_sound(check):
    check()


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_sampler_is_caught(name, monkeypatch):
    spoil, check = SPOILED[name]
    spoil(monkeypatch)
    with pytest.raises(AssertionError):
        check()
