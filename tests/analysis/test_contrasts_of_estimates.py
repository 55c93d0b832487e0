"""The errors of contrasts against the spread of the estimator over noise and minibatches."""

import numpy as np
import pytest
import torch
import xarray as xr

from rllc.analysis.contrasts import contrast, difference, gain
from rllc.estimator.llc import estimate

SIZE, CHAINS, DRAWS, BURN_IN, N_BETA = 24, 4, 20, 4, 30.0
HEADS = {
    "0:0": {"one": torch.ones(SIZE, dtype=torch.bool)},
    "0:1": {"two": torch.ones(SIZE, dtype=torch.bool)},
}
WEIGHTS = {"one": torch.zeros(SIZE), "two": torch.zeros(SIZE)}
# curvatures of the two distributions: alike, so that shared noise does much the same on both
CURVATURES = {"english": torch.linspace(0.5, 4.0, SIZE), "code": torch.linspace(0.8, 5.0, SIZE)}


def losses(curvature):
    """A bowl whose depth is the minibatch's: both heads feel it."""

    def loss(weights, batch):
        bowl = 0.5 * (curvature * (weights["one"] ** 2 + 0.05 * weights["two"] ** 2)).sum()
        return 1.0 + batch * bowl

    return loss


def chains(distribution, *, groups, seed, batches):
    """``groups`` estimates of CHAINS chains each, on the same minibatches: chains (group, head, chain)."""
    found = estimate(
        losses(CURVATURES[distribution]), WEIGHTS, batches, components=HEADS, n_beta=N_BETA,
        localization=20.0, step_size=5e-3, chains=groups * CHAINS, draws=DRAWS, burn_in=BURN_IN, seed=seed,
        vectorize=True,
    )  # fmt: skip
    traces = N_BETA * (found["loss"] - found["loss_at_center"]).isel(draw=slice(BURN_IN, None))
    traces = traces.drop_vars("chain").coarsen(chain=CHAINS).construct(chain=("group", "chain"))
    return traces.rename(component="head")


def drawn(random):
    return [torch.tensor(value) for value in random.lognormal(0, 0.8, DRAWS).astype(np.float32)]


def judged(traces_a, traces_b, *, shared_noise, anew):
    a, b = traces_a.mean("draw"), traces_b.mean("draw")
    return difference(a, b, shared_noise=shared_noise, traces=(traces_a, traces_b) if anew else None)


def test_given_the_minibatches_the_errors_are_the_spread_over_noise():
    """Between distributions the noise is shared and pairing pays; between heads it is not."""
    random = np.random.default_rng(0)
    by_name = {name: chains(name, groups=30, seed=3, batches=drawn(random)) for name in ("english", "code")}
    results = {
        "distribution": (by_name["code"].isel(head=0), by_name["english"].isel(head=0), True),
        "head": (by_name["code"].isel(head=0), by_name["code"].isel(head=1), False),
    }
    for a, b, shared in results.values():
        found = judged(a, b, shared_noise=shared, anew=False)
        truth = float(found["contrast"].mean())
        spread = float(found["contrast"].var(ddof=1))
        assert float((found["contrast_se"] ** 2).mean()) == pytest.approx(spread, rel=0.5)
        assert (np.abs(found["contrast"] - truth) <= found["half_width"]).mean() >= 0.87
    found = judged(*results["distribution"][:2], shared_noise=True, anew=False)
    assert gain(found) > 1.5
    data = by_name["code"].isel(group=0).mean("draw").to_dataset(name="rllc_chain")
    assert contrast(data, dim="head", a="0:0", b="0:1")["contrast_se"] > 0


def test_with_traces_the_errors_are_the_spread_over_minibatches_too():
    random = np.random.default_rng(1)
    values = [chains("code", groups=1, seed=seed, batches=drawn(random)).isel(group=0) for seed in range(30)]
    found = [judged(one.isel(head=0), one.isel(head=1), shared_noise=False, anew=True) for one in values]
    differences = np.array([one["contrast"].item() for one in found])
    squares = np.array([one["contrast_se"].item() ** 2 for one in found])
    widths = np.array([one["half_width"].item() for one in found])
    assert squares.mean() == pytest.approx(differences.var(ddof=1), rel=0.5)
    assert (np.abs(differences - differences.mean()) <= widths).mean() >= 0.87
    given = [judged(v.isel(head=0), v.isel(head=1), shared_noise=False, anew=False) for v in values]
    assert np.mean([one["contrast_se"].item() ** 2 for one in given]) < 0.5 * squares.mean()


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("failed", [0, 1])
def test_with_traces_the_degrees_of_freedom_are_welch_and_satterthwaites_of_all_terms(shared, failed):
    random = np.random.default_rng(2)
    common = random.normal(size=DRAWS)
    a, b = (common * size + random.normal(size=(CHAINS, DRAWS)) for size in (3, 1))
    a[:failed] = np.nan
    traces = [xr.DataArray(each, dims=("chain", "draw")) for each in (a, b)]
    found = judged(*traces, shared_noise=shared, anew=True)
    a, both = a[failed:], CHAINS - failed
    apart = a - b[failed:]
    means = [apart.mean(1)] if shared else [a.mean(1), b.mean(1)]
    terms = [(each.var(ddof=1) / len(each), len(each) - 1) for each in means]
    moves = np.diff(apart, axis=1)
    between = (moves.mean(0) ** 2).mean() / (2 * DRAWS)
    within = moves.var(0, ddof=1).mean() / (2 * DRAWS * both)
    of_moves = 2 * (DRAWS - 1) ** 2 / (3 * DRAWS - 4)  # of successive differences: von Neumann's
    square = sum(variance for variance, _ in terms) + between - within
    terms += [(between, of_moves), (within, of_moves * (both - 1))]
    assert between > within
    assert found["contrast_se"].item() ** 2 == pytest.approx(square)
    expected = square**2 / sum(variance**2 / freedom for variance, freedom in terms)
    assert found["degrees_of_freedom"].item() == pytest.approx(expected)


def with_pairs(seed, minibatches):
    """Both distributions from the same noise and minibatches, as studies have them."""
    law = {
        "n_beta": N_BETA, "localization": 200.0, "step_size": 5e-3, "chains": CHAINS, "antithetic_pairs": 16, "vectorize": True,
    }  # fmt: skip
    found = [
        estimate(
            losses(curvature), WEIGHTS, minibatches, components=HEADS, draws=DRAWS, burn_in=BURN_IN, seed=seed, **law,
        ).rename(component="head")
        for curvature in CURVATURES.values()
    ]  # fmt: skip
    return xr.concat(found, dim=xr.DataArray(list(CURVATURES), dims="distribution", name="distribution"))


@pytest.fixture(scope="module")
def replicates():
    minibatches = drawn(np.random.default_rng(5))
    return [with_pairs(seed, minibatches) for seed in range(30)]


@pytest.mark.parametrize("dim", ["distribution", "head"])
def test_contrasts_of_reduced_chains_are_those_of_the_estimates_with_honest_errors(dim, replicates):
    (a, b), shared = (("code", "english"), True) if dim == "distribution" else (("0:0", "0:1"), False)
    options = {"dim": dim, "a": a, "b": b, "name": "llc", "shared_noise": shared}
    found = xr.concat([contrast(each, **options) for each in replicates], dim="replicate")
    estimates = xr.concat([each["llc"] for each in replicates], dim="replicate")
    np.testing.assert_allclose(
        found["contrast"], estimates.sel({dim: a}) - estimates.sel({dim: b}), rtol=1e-9
    )
    spread = found["contrast"].var("replicate", ddof=1)
    square = (found["contrast_se"] ** 2).mean("replicate")
    assert (square > 0.6 * spread).all()  # of distributions far above: pairs share their noise, too
    truth = found["contrast"].mean("replicate")
    assert ((np.abs(found["contrast"] - truth) <= found["half_width"]).mean("replicate") >= 0.87).all()
    if dim == "head":  # whose noise has nothing in common
        assert (square < 1.6 * spread).all()
        chains = [contrast(each.drop_vars("llc_reduced_chain"), **options) for each in replicates]
        plain = xr.concat(chains, dim="replicate")["contrast"].var("replicate", ddof=1)
        assert (spread < plain).all()
