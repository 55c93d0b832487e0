import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rllc.measures.sgld import coordinates, loss_and_gradient, move, noise_stream, sample

COPIES = 40_000  # independent copies of a small well in one vector: that many chains for the price of one


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


def quadratic(h, centre=0.0):
    def loss(weights, batch):
        return 0.5 * (h[:, None] * (weights["w"] - centre) ** 2).sum(0).mean()

    return loss


def run(loss, weights, batches=(None,), masks=None, **setting):
    setting = {"n_beta": 30.0, "localization": 5.0, "step_size": 0.01, "draws": 200, **setting}
    setting = {"chains": 1, "seed": 0, **setting}
    selected = {"c": coordinates(weights, masks, component="c")}
    traces, at_center = sample(loss, weights, batches, components=selected, **setting)
    return traces[0], at_center


def copies_of_well(h):
    """The mean over copies of the loss of one: n_beta times COPIES gives each copy its own n_beta."""
    return torch.zeros(len(h), COPIES), quadratic(torch.tensor(h))


def test_transient_of_a_well_is_that_of_the_discretised_chain():
    h = [1.0, 3.0, 0.5]
    w, loss = copies_of_well(h)
    traces, _ = run(loss, {"w": w}, n_beta=30.0 * COPIES)
    expected, sd = well_moments(h, 30, 5, 0.01, 200, COPIES)
    assert expected == pytest.approx(1.46360, abs=5e-5)  # the published worked number
    assert 30 * traces.mean() == pytest.approx(expected, abs=4 * sd)


def test_stationary_value_of_a_well():
    h = [1.0, 3.0, 0.5]
    w, loss = copies_of_well(h)
    traces, _ = run(loss, {"w": w}, n_beta=30.0 * COPIES, draws=120, localization=5.0)
    exact = sum(30 * c / (p * (1 - 0.01 * p / 4)) for c in h for p in [30 * c + 5]) / 2
    assert exact == pytest.approx(1.48563, abs=5e-6)
    _, sd = well_moments(h, 30, 5, 0.01, 60, COPIES)
    assert 30 * traces[:, 60:].mean() == pytest.approx(exact, abs=4 * sd + 1e-3)


def test_minibatch_noise_adds_to_the_diffusion():
    draws, s = 300, 0.3
    random = torch.Generator().manual_seed(1)
    batches = [s * torch.randn(1, COPIES, generator=random) for _ in range(draws)]

    def loss(weights, slope):
        return (0.5 * 2 * weights["w"] ** 2 + slope * weights["w"]).sum(0).mean()

    setting = {"n_beta": 50.0 * COPIES, "localization": 10.0, "step_size": 0.004, "draws": draws}
    traces, _ = run(loss, {"w": torch.zeros(1, COPIES)}, batches, **setting)
    expected, sd = well_moments([2.0], 50, 10, 0.004, draws, COPIES, noise=s)
    # the linear term adds variance 50^2 s^2 var_t / COPIES per draw, independent over draws
    sd = math.hypot(sd, 50 * s * math.sqrt(0.025 / COPIES / draws))
    assert 50 * traces.mean() == pytest.approx(expected, abs=4 * sd)
    stationary, _ = well_moments([2.0], 50, 10, 0.004, 100_000 // 40, COPIES, noise=s)
    assert stationary == pytest.approx(0.62564, abs=2e-3)


def test_pull_is_to_the_centre_and_not_to_zero():
    h, c, w_star = 2.0, 1.0, 3.0  # the well's bottom is not w*: the mean lies between them
    n_beta, gamma, eps, draws = 10.0, 5.0, 0.01, 400
    start = torch.full((1, COPIES), w_star)
    traces, _ = run(
        quadratic(torch.tensor([h]), centre=c), {"w": start}, n_beta=n_beta * COPIES, localization=gamma,
        step_size=eps, draws=draws,
    )  # fmt: skip
    p = n_beta * h + gamma
    mean = (n_beta * h * c + gamma * w_star) / p
    variance = 1 / (p * (1 - eps * p / 4))
    expected = 0.5 * h * ((mean - c) ** 2 + variance)
    sd = h * math.sqrt((mean - c) ** 2 * variance + variance**2 / 2) / math.sqrt(COPIES)
    assert float(traces[0, -100:].mean()) == pytest.approx(expected, abs=4 * sd)
    assert float(traces[0, 0]) == pytest.approx(0.5 * h * (w_star - c) ** 2, rel=1e-5)  # draw 0 is at w*


def test_only_the_mask_moves_and_its_law_is_that_of_a_smaller_well():
    h = torch.tensor([1.0, 3.0, 0.5])
    w = torch.zeros(3, COPIES)
    w[1] = 0.25
    frozen = torch.full((2,), 7.0)
    mask = torch.ones(3, COPIES, dtype=torch.bool)
    mask[1] = False

    def loss(weights, batch):
        assert torch.equal(weights["w"][1], w[1])
        assert torch.equal(weights["frozen"], frozen)
        return 0.5 * (h[:, None] * weights["w"] ** 2).sum(0).mean()

    traces, at_center = run(loss, {"w": w, "frozen": frozen}, masks={"w": mask}, n_beta=30.0 * COPIES)
    expected, sd = well_moments([1.0, 0.5], 30, 5, 0.01, 200, COPIES)
    assert 30 * float((traces - at_center).mean()) == pytest.approx(expected, abs=4 * sd)
    assert w.unique(dim=1).flatten().tolist() == [0.0, 0.25, 0.0]  # the caller's tensor is untouched


def test_chains_have_noise_of_their_own():
    traces, _ = run(quadratic(torch.ones(3)), {"w": torch.zeros(3, 1)}, chains=400, draws=3)
    drawn = traces[:, 1]
    assert len(drawn.unique()) == 400
    # 1/2 w^2 of 3 coordinates after one move: mean 3 eps / 2, sd eps sqrt(3 / 2) over independent chains
    assert float(drawn.mean()) == pytest.approx(1.5 * 0.01, abs=4 * 0.01 * math.sqrt(1.5) / 20)


def test_streams_are_named_by_seed_component_and_chain():
    names = [(0, "1:0", 0), (0, "1:0", 1), (0, "1:1", 0), (1, "1:0", 0)]
    first = [float(torch.randn(1, generator=noise_stream(*name, torch.device("cpu")))) for name in names]
    again = [float(torch.randn(1, generator=noise_stream(*name, torch.device("cpu")))) for name in names]
    assert first == again
    assert len(set(first)) == 4


def test_one_move_is_the_formula():
    random = torch.Generator().manual_seed(0)
    w, center, gradient, noise = (torch.randn(5, generator=random, dtype=torch.float64) for _ in range(4))
    expected = w - 0.02 / 2 * (3.0 * gradient + 7.0 * (w - center)) + math.sqrt(0.02) * noise
    setting = {"center": center, "noise": noise, "n_beta": 3.0, "localization": 7.0, "step_size": 0.02}
    assert torch.allclose(move(w.clone(), gradient=gradient, **setting), expected, rtol=1e-14)
    control = w - 0.02 / 2 * 7.0 * (w - center) + math.sqrt(0.02) * noise
    assert torch.allclose(move(w.clone(), gradient=None, **setting), control, rtol=1e-14)


def test_draws_are_the_documented_ones():
    """By hand, from the contract: sorted names, row-major, True coordinates only, one randn per draw."""
    weights = {"b": torch.arange(4.0).reshape(2, 2), "a": torch.arange(3.0), "c": torch.ones(2)}
    masks = {"b": torch.tensor([[True, False], [True, True]]), "a": torch.tensor([False, True, True])}

    def loss(weights, batch):
        return (weights["a"] ** 2).sum() + (weights["b"] ** 3).sum() + batch * weights["c"].sum()

    batches = [1.0, 2.0]
    selected = {"x": coordinates(weights, masks, component="x")}
    setting = {"n_beta": 2.0, "localization": 3.0, "step_size": 0.05}
    traces, at_center = sample(
        loss, weights, batches, components=selected, chains=2, draws=4, seed=9, **setting
    )
    for chain in range(2):
        stream = noise_stream(9, "x", chain, torch.device("cpu"))
        a, b = weights["a"].clone(), weights["b"].clone()
        for t in range(4):
            now = (a**2).sum() + (b**3).sum() + batches[t % 2] * 2
            assert float(traces[0, chain, t]) == pytest.approx(float(now), rel=1e-6)
            n = torch.randn(5, generator=stream)
            noise_a = torch.tensor([0, n[0], n[1]])
            noise_b = torch.tensor([[n[2], 0], [n[3], n[4]]])
            drift_a = 2 * 2 * a + 3 * (a - weights["a"])
            drift_b = 2 * 3 * b**2 + 3 * (b - weights["b"])
            a = a - 0.025 * masks["a"] * drift_a + math.sqrt(0.05) * noise_a
            b = b - 0.025 * masks["b"] * drift_b + math.sqrt(0.05) * noise_b
    assert torch.allclose(at_center, torch.tensor([43.0, 45.0, 43.0, 45.0], dtype=torch.float64))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.booleans(), min_size=8, max_size=8).filter(any))
def test_gather_and_insert_are_inverse(selection):
    weights = {"v": torch.arange(4.0), "u": torch.arange(4.0, 8.0).reshape(2, 2)}
    masks = {"v": torch.tensor(selection[:4]), "u": torch.tensor(selection[4:]).reshape(2, 2)}
    selected = coordinates(weights, masks, component="x")
    flat = selected.gather(weights)
    assert flat.tolist() == weights["u"][masks["u"]].tolist() + weights["v"][masks["v"]].tolist()
    back = selected.insert(weights, flat + 10)
    for name in weights:
        assert torch.equal(back[name], weights[name] + 10 * masks[name])


def test_a_loss_that_ignores_the_coordinates_has_gradient_zero():
    weights = {"w": torch.ones(2), "v": torch.ones(1, requires_grad=True)}
    selected = coordinates(weights, {"w": torch.tensor([True, True])}, component="x")
    for loss in (lambda w, b: torch.tensor(1.0), lambda w, b: w["v"].sum()):
        _, slope = loss_and_gradient(loss, weights, selected, torch.ones(2), None, gradient=True)
        assert slope.tolist() == [0.0, 0.0]


class Asked:
    """Two batches that note when they are asked for."""

    def __init__(self):
        self.indices = []

    def __len__(self):
        return 2

    def __getitem__(self, index):
        self.indices.append(index)


def test_memory_bound_and_gradient_context_change_nothing():
    loss, asked = quadratic(torch.ones(3)), Asked()
    whole, center = run(loss, {"w": torch.zeros(3, 2)}, chains=5, draws=6)
    with torch.no_grad():
        parts, again = run(loss, {"w": torch.zeros(3, 2)}, asked, chains=5, draws=6, max_memory=50)
    assert torch.equal(whole, parts)
    assert torch.equal(center, again)
    assert len(asked.indices) == 3 * 6  # 24 bytes a chain: 2, 2 and 1 at once


def test_a_batch_is_asked_for_once_per_draw():
    asked = Asked()
    run(quadratic(torch.ones(3)), {"w": torch.zeros(3, 1)}, asked, chains=3, draws=5)
    assert asked.indices == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ({"v": torch.ones(2, dtype=torch.bool)}, "no weight: expected one of n, w"),
        ({"w": torch.ones(3, dtype=torch.bool)}, r"shape \[3\], the weight \[2\]"),
        ({"w": torch.ones(2)}, "expected torch.bool"),
        ({"w": torch.zeros(2, dtype=torch.bool)}, "selects no coordinate"),
        ({"n": torch.ones(1, dtype=torch.bool)}, "floating-point"),
    ],
)
def test_masks_that_do_not_fit_are_refused(masks, message):
    weights = {"w": torch.zeros(2), "n": torch.zeros(1, dtype=torch.int64)}
    with pytest.raises(ValueError, match=message):
        coordinates(weights, masks, component="x")


@pytest.mark.parametrize("value", [torch.zeros(2), 0.5, torch.tensor(float("nan"))])
def test_a_loss_that_is_no_finite_scalar_is_refused(value):
    with pytest.raises(ValueError, match=r"scalar|finite"):
        run(lambda w, b: value, {"w": torch.zeros(2)})
