"""The estimator against exact truths. Tolerances are four known or measured standard errors, beside a named bias.

Models are sampled as many replicas in one loss (``rllc.validation.toys``), so a test is a chain or two. Seeds are
fixed; where the truth's own standard deviation is known, it says how many replicas make it 1 %.
"""

import math

import numpy as np
import pytest
import torch
from well import standard_deviation, stationary

from rllc.estimator.llc import estimate
from rllc.estimator.samplers.chains import noise_stream
from rllc.validation import networks, toys, wells
from rllc.validation.replicated import replicated
from rllc.validation.truths import quadratic as truths
from rllc.validation.truths.potentials import POTENTIALS, crossing, power_sum
from rllc.validation.truths.reduced_rank import mean_loss_at_zero

HESSIAN = np.array([[2.0, 0.5, 0.0, 0.3], [0.5, 1.0, 0.2, 0.0], [0.0, 0.2, 0.5, 0.1], [0.3, 0.0, 0.1, 0.1]])
SELECTED = np.array([True, False, True, True])
LAW = {"n_beta": 30.0, "localization": 5.0, "step_size": 0.01}
DOUBLE = torch.float64


def sampled(loss, center, **setting):
    return replicated(loss, {"w": torch.tensor(center, dtype=DOUBLE)}, seed=0, **setting)


@pytest.mark.parametrize(
    ("mask", "chain"),
    [
        (None, {"draws": 200}),
        (None, {"draws": 260, "burn_in": 60}),
        (SELECTED, {"draws": 80, "burn_in": 20, "thinning": 4}),
    ],
    ids=["transient", "stationary", "thinned and masked"],
)
def test_a_localised_quadratic_is_exact_to_one_percent(mask, chain):
    curvature, replicas, chains = truths.spectrum(HESSIAN, mask), 6000, 2
    exact = truths.transient(curvature, **LAW, **chain)
    error = standard_deviation(curvature, **LAW, **chain) / math.sqrt(replicas * chains)
    assert 4 * error < 0.01 * exact  # so that the assertion below is one about 1 %
    found = sampled(
        toys.quadratic(torch.from_numpy(HESSIAN)), [0.0] * 4, replicas=replicas, chains=chains,
        masks=None if mask is None else {"w": torch.from_numpy(mask)}, **LAW, **chain,
    )  # fmt: skip
    assert found["llc"] == pytest.approx(exact, abs=4 * error)
    if "burn_in" in chain:  # from the centre the trace is not stationary, and its standard error is too large
        assert found["llc_se"] == pytest.approx(error, rel=0.5)
    assert found["chains_ok"] == chains
    if chain["draws"] == 260:
        assert exact == pytest.approx(stationary(curvature, **LAW), rel=2e-3)
        assert (
            abs(exact / truths.posterior(curvature, **{k: LAW[k] for k in ("n_beta", "localization")}) - 1)
            > 0.05
        )


def test_the_control_without_gradient_is_the_localization_alone():
    curvature, chain = truths.spectrum(HESSIAN), {"draws": 150, "gradient": False}
    exact = truths.transient(curvature, **LAW, **chain)
    error = standard_deviation(curvature, **LAW, **chain) / math.sqrt(1500)
    found = sampled(
        toys.quadratic(torch.from_numpy(HESSIAN)), [0.0] * 4, replicas=1500, chains=1, **LAW, **chain
    )
    assert found["llc"] == pytest.approx(exact, abs=4 * error)
    assert exact > 2 * truths.transient(curvature, **LAW, draws=150)


def test_the_noise_of_minibatches_adds_to_the_diffusion():
    s, draws, replicas = 0.3, 300, 2000
    law = {"n_beta": 50.0, "localization": 10.0, "step_size": 0.004}
    random = torch.Generator().manual_seed(1)
    slopes = [s * torch.randn(replicas, 1, generator=random, dtype=DOUBLE) for _ in range(draws)]
    chain = {"draws": draws, "burn_in": 50}
    exact = truths.transient([2.0], **law, **chain, gradient_noise=s)
    error = standard_deviation([2.0], **law, **chain, gradient_noise=s) / math.sqrt(replicas)
    # slope . w is in the loss too: variance 50^2 s^2 Var(w) per draw, independent over draws
    error = math.hypot(error, 50 * s * math.sqrt(0.6256 / 50 / replicas / 250))
    found = sampled(
        toys.quadratic(torch.tensor([[2.0]], dtype=DOUBLE)), [0.0], replicas=replicas, chains=1, batches=slopes,
        **law, **chain,
    )  # fmt: skip
    assert found["llc"] == pytest.approx(exact, abs=4 * error)
    assert exact - truths.transient([2.0], **law, **chain) > 8 * error  # the noise is seen


# A regular and two quartic directions, a crossing, and two minima (a flat direction and the crossing 2 2 stand
# below): n_beta and localization, and the discretisation may make relative_step / 4 of the error at most.
POSTERIORS = {
    "sum_2_4_4": (100.0, 10.0), "crossing_2_4": (300.0, 10.0), "two_wells_at_0": (3000.0, 20.0),
}  # fmt: skip


@pytest.mark.parametrize("name", POSTERIORS)
def test_toy_potentials_have_their_mean_loss_at_finite_n_beta(name):
    model, (n_beta, localization) = POTENTIALS[name], POSTERIORS[name]
    law = {"n_beta": n_beta, "localization": localization}
    exact, relative_step = model.mean_loss(**law), 0.05
    step = relative_step / (n_beta * model.curvature(**law) + localization)
    thinning = math.ceil(6 * 2 / (step * localization) / 60)
    found = sampled(
        toys.potential(model.value), model.center, replicas=2000, chains=1, draws=60, burn_in=20,
        thinning=thinning, step_size=step, **law,
    )  # fmt: skip
    assert found["llc_se"] < 0.02 * exact
    assert found["llc"] == pytest.approx(exact, abs=4 * found["llc_se"] + relative_step / 4 * exact)


@pytest.mark.parametrize("case", [(1, 1, 1), (2, 2, 2), (3, 3, 2)])
def test_reduced_rank_regression_around_zero_is_the_integral(case):
    """One number into one is the crossing 2 2."""
    inputs, outputs, hidden = case
    (found,) = networks.sampled(
        [((inputs, hidden, outputs), 0)], n_beta=[200.0], localization=10.0, relative_step=0.06, batch_size=None,
        replicas=400, chains=1, draws=70, burn_in=25, thinning=50, seed=0,
    )  # fmt: skip
    exact = mean_loss_at_zero(
        inputs=inputs, outputs=outputs, hidden=hidden, n_beta=200.0, localization=10.0, scale=0.5
    )
    assert found["exact"] == pytest.approx(exact)
    assert found["llc_se"] < 0.03 * exact
    assert found["llc"] == pytest.approx(exact, abs=4 * found["llc_se"] + 0.015 * exact)


# shapes whose flat directions are few or none: what is left at n_beta 3e4 of the way to the limit is under 4 %
@pytest.mark.parametrize(
    ("sizes", "rank"),
    [((5, 4, 2), 2), ((6, 3, 6), 3), ((3, 5, 4, 3), 3), ((5, 5, 5), 4)],
)
def test_linear_networks_at_a_balanced_point_have_aoyagis_coefficient(sizes, rank):
    (found,) = networks.sampled(
        [(sizes, rank)], n_beta=[3e4], localization=10.0, relative_step=0.05, batch_size=None,
        replicas=100, chains=1, draws=60, burn_in=30, thinning=50, seed=1,
    )  # fmt: skip
    assert found["llc_se"] < 0.02 * found["coefficient"]
    assert found["llc"] == pytest.approx(found["coefficient"], rel=0.04)


def test_minibatches_of_inputs_have_the_law_of_the_expected_loss():
    sizes = (4, 3, 4)
    center, target = toys.balanced(sizes, [1.0, 1.0], seed=0)
    setting = {
        "n_beta": 100.0,
        "localization": 10.0,
        "step_size": 1e-4,
        "draws": 400,
        "burn_in": 100,
        "chains": 2,
    }
    loss = toys.linear_network(target)
    expected = replicated(loss, center, replicas=30, seed=0, **setting)
    inputs = networks.Inputs(400, 64, 4, 7)
    found = replicated(loss, center, replicas=30, seed=0, batches=inputs, **setting)
    spread = math.hypot(expected["llc_se"], found["llc_se"])
    assert found["llc"] == pytest.approx(expected["llc"], abs=4 * spread + 0.01 * expected["llc"])


@pytest.mark.parametrize("frozen", [0, 2, 8])
def test_the_power_of_a_frozen_coordinate_does_not_matter(frozen):
    """(w1 w2)^2 w3^frozen with w3 frozen at 1 is the loss without w3: the same chain, draw by draw."""
    law = {"n_beta": 200.0, "localization": 10.0, "step_size": 1e-3, "chains": 3, "draws": 120, "seed": 5}
    two = estimate(
        toys.potential(crossing(2, 2).value), {"w": torch.zeros(20, 2, dtype=DOUBLE)}, [0.0],
        components={"full": None}, **law,
    )  # fmt: skip
    weights = {"w": torch.tensor([0.0, 0.0, 1.0], dtype=DOUBLE).expand(20, 3).clone()}
    mask = {"w": torch.tensor([True, True, False]).expand(20, 3)}
    three = estimate(
        toys.potential(lambda x, y, z: x**2 * y**2 * z**frozen),
        weights,
        [0.0],
        components={"full": mask},
        **law,
    )
    np.testing.assert_allclose(three["llc"], two["llc"], rtol=1e-5)
    np.testing.assert_allclose(three["loss"], two["loss"], rtol=1e-5, atol=1e-12)


def test_the_coefficient_is_seen_in_the_estimates():
    """A flat direction and a quartic one lower the estimate by 1/2 and by 1/4, as the theory has it."""
    law = {"n_beta": 1e4, "localization": 1.0, "step_size": 5e-6, "replicas": 300, "chains": 1, "draws": 60,
           "burn_in": 30, "thinning": 100}  # fmt: skip
    found = {}
    for powers in ((2, 2), (2, 0), (2, 4)):
        model = power_sum(*powers)
        found[powers] = sampled(toys.potential(model.value), model.center, **law)["llc"]
        assert found[powers] == pytest.approx(float(model.coefficient.value), rel=0.1), powers


def test_replicas_move_as_each_would_alone():
    """By hand: every row at n_beta, from the noise of the one chain."""
    hessian = torch.tensor([[2.0, 0.3], [0.3, 1.0]], dtype=DOUBLE)
    center = torch.tensor([0.3, -0.2], dtype=DOUBLE)
    law = {"localization": 5.0, "step_size": 0.01, "chains": 1, "draws": 12, "seed": 3}
    found = estimate(
        toys.quadratic(hessian),
        toys.replicated({"w": center}, 4),
        [0.0],
        components={"full": None},
        n_beta=40.0,
        **law,
    )
    stream, w, losses = noise_stream(3, "full", 0, torch.device("cpu")), center.expand(4, 2), []
    for _ in range(12):
        losses.append(float((0.5 * (w @ hessian) * w).sum(1).mean()))
        noise = torch.randn(8, generator=stream, dtype=DOUBLE).view(4, 2)
        w = w - 0.005 * (10 * w @ hessian + 5 * (w - center)) + 0.1 * noise
    np.testing.assert_allclose(found["loss"][0, 0], losses, rtol=1e-10)
    one = replicated(toys.quadratic(hessian), {"w": center}, replicas=4, n_beta=10.0, **law)
    assert one["llc"] == pytest.approx(10 * (np.mean(losses) - losses[0]))
    assert one["llc_se"] == pytest.approx(float(found["llc_se"][0]) / 4)


def test_balanced_points_are_true_parameters_of_their_rank():
    sizes, s = (5, 4, 6, 3), [1.5, 0.7]
    weights, target = toys.balanced(sizes, s, seed=0)
    assert float(toys.linear_network(target)(toys.replicated(weights, 2), 0.0)) == pytest.approx(0, abs=1e-25)
    assert torch.linalg.svdvals(target)[:2].tolist() == pytest.approx(s)
    for w in weights.values():
        assert int(torch.linalg.matrix_rank(w)) == 2
    assert [tuple(w.shape) for w in weights.values()] == [(4, 5), (6, 4), (3, 6)]
    zero, nothing = toys.balanced(sizes, [], seed=0)
    assert not any(w.any() for w in zero.values())
    assert not nothing.any()
    with pytest.raises(ValueError, match="at most the smallest"):
        toys.balanced(sizes, [1.0] * 4, seed=0)


def test_the_expected_loss_is_that_of_many_inputs():
    weights, target = toys.balanced((4, 3, 4), [1.0], seed=0)
    weights = {name: w + 0.3 for name, w in toys.replicated(weights, 3).items()}
    loss = toys.linear_network(target)
    inputs = networks.Inputs(2, 100_000, 4, 0)
    assert not torch.equal(inputs[0], inputs[1])
    assert torch.equal(inputs[1], inputs[1])
    assert float(loss(weights, inputs[0])) == pytest.approx(float(loss(weights, 0.0)), rel=0.02)


def test_the_curvature_at_a_balanced_point_is_the_largest_eigenvalue():
    s = [1.4, 0.6]
    for sizes in ((4, 3, 3), (3, 4, 2, 3)):
        weights, target = toys.balanced(sizes, s, seed=0)
        shapes = [w.shape for w in weights.values()]

        def loss(flat, shapes=shapes, target=target, names=tuple(weights)):
            parts = flat.split([shape.numel() for shape in shapes])
            placed = {n: p.view(1, *shape) for n, p, shape in zip(names, parts, shapes, strict=True)}
            return toys.linear_network(target)(placed, 0.0)

        flat = torch.cat([w.reshape(-1) for w in weights.values()])
        largest = torch.linalg.eigvalsh(torch.func.hessian(loss)(flat))[-1]
        assert networks.largest_curvature(sizes, s, localization=1.0) == pytest.approx(float(largest))


def test_random_architectures_keep_their_bounds():
    drawn = networks.architectures(50, (2, 4), (3, 20), 0)
    assert drawn == networks.architectures(50, (2, 4), (3, 20), 0)
    for sizes, rank in drawn:
        assert 3 <= len(sizes) <= 5
        assert 3 <= min(sizes) <= max(sizes) <= 20
        assert 1 <= rank <= min(sizes)


def test_the_datasets_are_labelled_and_say_what_is_missing(tmp_path):
    chain = {"replicas": 4, "chains": 2, "draws": 12, "burn_in": 4, "seed": 0}
    well = wells.quadratic(
        dimensions=[2], condition=10, n_beta=[10.0], localization=[1.0, 5.0], relative_step=0.5, **chain
    )
    assert set(well["llc"].dims) == {"dimension", "component", "n_beta", "localization", "burn_in"}
    toy = wells.potentials(
        names=["sum_4_4"],
        n_beta=[10.0],
        localization=[5.0],
        relative_step=0.5,
        relaxations=1,
        max_moves=24,
        **chain,
    )
    assert set(toy["llc"].dims) == {"potential", "n_beta", "localization"}
    network = {"relative_step": 0.2, "batch_size": None, "thinning": 1, "localization_per_width": 1.0} | chain
    zero = {"sizes": [[2, 2, 1]], "n_beta": [5.0], "localization": 5.0, "replicas": 3}
    rank = networks.reduced_rank(at_zero=zero, models=2, widths=[2, 4], n_beta=[10.0], **network)
    assert rank["llc"].dims == ("model", "n_beta")
    assert rank["quality"].values[0, 1] == rank["quality"].values[1, 0] == 1024  # missing
    assert rank["exact"].notnull().sum() == 1
    truth = rank["exact"].fillna(rank["coefficient"])
    np.testing.assert_allclose(rank["relative_error"], (rank["llc"] - truth) / truth)
    deep = networks.deep_linear(models=2, layers=[3, 4], widths=[2, 4], n_beta=[10.0], **network)
    error = (deep["llc"] - deep["coefficient"]) / deep["coefficient"]
    np.testing.assert_allclose(deep["relative_error"], error)
    for name, dataset in {"w": well, "t": toy, "r": rank, "d": deep}.items():
        assert all(v.attrs["units"] and v.attrs["long_name"] for v in dataset.data_vars.values())
        dataset.to_netcdf(tmp_path / f"{name}.nc")
