import numpy as np
import pytest
import xarray as xr
from scipy import stats

from rllc.analysis.contrasts import (
    BY_CHAIN,
    batch_variance,
    by_chain,
    contrast,
    difference,
    gain,
    lead,
    onset,
)

CHAINS, DRAWS = 4, 24


def toy(*, repetitions, same_batches, same_noise, seed=0, autocorrelation=0.8, load=(1.0, 0.8)):
    """Traces of two estimates of known difference 0.7 that share minibatches, and noise if asked for.

    r[c, t] = level + load * batch[t] + own[c, t] * batch[t] + wander[c, t]: (repetition, chain, draw) each.
    """
    random = np.random.default_rng(seed)
    batch = random.normal(0, 1.5, (repetitions, 1, DRAWS))
    if same_batches:
        batch = np.broadcast_to(batch[:1], batch.shape)
    wander = random.normal(0, 1, (2, repetitions, CHAINS, DRAWS))
    if same_noise:
        wander[1] = 0.9 * wander[0] + np.sqrt(1 - 0.9**2) * wander[1]
    for t in range(1, DRAWS):
        wander[..., t] = (
            autocorrelation * wander[..., t - 1] + np.sqrt(1 - autocorrelation**2) * wander[..., t]
        )
    own = random.normal(0, 0.5, (2, repetitions, CHAINS, DRAWS))
    level = np.array([2.7, 2.0])
    values = level[:, None, None, None] + (np.array(load)[:, None, None, None] + own) * batch + wander
    return [xr.DataArray(one, dims=("repetition", "chain", "draw")) for one in values]


def found(a, b, *, traces, shared_noise):
    return difference(
        a.mean("draw"), b.mean("draw"), shared_noise=shared_noise, traces=(a, b) if traces else None
    )


def covered(result, truth):
    return float((np.abs(result["contrast"] - truth) <= result["half_width"]).mean())


def test_less_a_constant_the_paired_and_the_unpaired_error_are_one():
    a, _ = toy(repetitions=20, same_batches=False, same_noise=False)
    result = found(a, xr.zeros_like(a), traces=True, shared_noise=False)
    np.testing.assert_allclose(result["unpaired_se"], result["contrast_se"])
    assert (
        result["unpaired_se"] > found(a, xr.zeros_like(a), traces=False, shared_noise=False)["unpaired_se"]
    ).any()


@pytest.mark.parametrize("same_noise", [True, False])
@pytest.mark.parametrize("anew", [False, True])
def test_the_error_is_the_spread_over_repetitions(same_noise, anew):
    """Given the minibatches: spread and coverage with the same ones. With traces: with others each time."""
    a, b = toy(repetitions=3000, same_batches=not anew, same_noise=same_noise, load=(1.6, 0.8))
    result = found(a, b, traces=anew, shared_noise=same_noise)
    truth = 0.7 if anew else float(result["contrast"].mean())  # these minibatches move it from 0.7
    spread = float(result["contrast"].var(ddof=1))
    assert float((result["contrast_se"] ** 2).mean()) == pytest.approx(spread, rel=0.12)
    # a variance found as a difference is cut off at 0, so with traces the interval is a little wide
    assert 0.935 < covered(result, truth) < (0.985 if anew else 0.965)


def test_shared_noise_and_shared_minibatches_each_make_the_paired_error_smaller():
    a, b = toy(repetitions=400, same_batches=False, same_noise=True)
    assert gain(found(a, b, traces=False, shared_noise=True)) > 1.5
    a, b = toy(repetitions=400, same_batches=False, same_noise=False)
    assert gain(found(a, b, traces=True, shared_noise=False)) > 1.1
    assert gain(found(a, b, traces=False, shared_noise=False)) == pytest.approx(1)
    with_traces, given = (found(a, b, traces=t, shared_noise=False)["contrast_se"] for t in (True, False))
    assert (with_traces >= given).all()


@pytest.mark.parametrize("same_noise", [True, False])
def test_degrees_of_freedom_with_traces_are_those_of_the_sum_of_its_terms(same_noise):
    """Satterthwaite: (sum of variances)^2 / sum of variance^2 / degrees, each term computed here by loops."""
    pair = [
        trace.isel(repetition=0)
        for trace in toy(repetitions=1, same_batches=False, same_noise=True, load=(3.0, 0.5))
    ]
    a, b = (trace.values for trace in pair)
    moves = np.diff(a - b, axis=1)
    between = np.mean(moves.mean(0) ** 2) / (2 * DRAWS)
    inner = [((moves[:, t] - moves[:, t].mean()) ** 2).sum() / (CHAINS - 1) for t in range(DRAWS - 1)]
    within = np.mean(inner) / (2 * DRAWS * CHAINS)
    of_each = [np.var(one.mean(1), ddof=1) / CHAINS for one in (a, b)]
    of_pairs = np.var((a - b).mean(1), ddof=1) / CHAINS
    chains = [(v, CHAINS - 1) for v in ([of_pairs] if same_noise else of_each)]
    own = 2 * (DRAWS - 1) ** 2 / (3 * DRAWS - 4)  # of a mean of squared successive differences
    terms = [*chains, (between, own), (within, own * (CHAINS - 1))]
    total = sum(v for v, _ in chains) + between - within
    result = found(*pair, traces=True, shared_noise=same_noise)
    assert between > within
    assert result["contrast_se"].item() == pytest.approx(np.sqrt(total))
    truth = total**2 / sum(v**2 / degrees for v, degrees in terms)
    assert result["degrees_of_freedom"].item() == pytest.approx(truth)


def test_independent_noise_by_chain_has_fewer_degrees_of_freedom_and_no_smaller_error():
    a, b = toy(repetitions=2000, same_batches=True, same_noise=False)
    by_chain = found(a, b, traces=False, shared_noise=True)
    apart = found(a, b, traces=False, shared_noise=False)
    assert (by_chain["degrees_of_freedom"] == CHAINS - 1).all()
    assert float(apart["degrees_of_freedom"].median()) > 1.6 * (CHAINS - 1)
    ratio = (by_chain["contrast_se"] ** 2).mean() / (apart["contrast_se"] ** 2).mean()
    assert float(ratio) == pytest.approx(1, abs=0.05)
    assert float(apart["half_width"].mean() / by_chain["half_width"].mean()) < 0.9


def test_batch_variance_finds_what_all_chains_share():
    """The toy's minibatches: variance (1.5 * load)^2 per draw; drift and wandering do not enter."""
    a, _ = toy(repetitions=3000, same_batches=False, same_noise=False, autocorrelation=0.95)
    drift = xr.DataArray(np.linspace(0, 3, DRAWS), dims="draw")
    assert float(batch_variance(a + drift).mean()) == pytest.approx(1.5**2 / DRAWS, rel=0.05)
    quiet, _ = toy(repetitions=3000, same_batches=False, same_noise=False, load=(0.0, 0.0))
    assert abs(float(batch_variance(quiet).mean())) < 0.02 * 1.5**2 / DRAWS
    with pytest.raises(ValueError, match="at least 3"):
        batch_variance(a.isel(draw=[0, 1]))


def estimates(seed=0):
    """A small rllc.nc: chains of code follow those of english."""
    random = np.random.default_rng(seed)
    coords = {
        "seed": [0],
        "step": [0, 10, 20],
        "head": ["0:0", "0:1", "1:0"],
        "distribution": ["english", "code"],
    }
    values = random.normal(size=(1, 3, 3, 2, CHAINS))
    values[..., 1, :] += 5 * values[..., 0, :] + 1
    dims = (*coords, "chain")
    return xr.Dataset({"rllc_chain": (dims, values)}, {**coords, "layer": ("head", [0, 0, 1])})


def test_contrast_of_distributions_is_the_paired_t_test():
    data = estimates()
    got = contrast(data, dim="distribution", a="code", b="english")
    assert got["contrast"].dims == ("seed", "step", "head")
    for s in range(3):
        one = data["rllc_chain"][0, s, 1]
        truth = stats.ttest_rel(one[1], one[0])
        low, high = truth.confidence_interval(0.95)
        cell = got.isel(seed=0, step=s, head=1)
        assert cell["contrast"].item() == pytest.approx((low + high) / 2)
        assert cell["half_width"].item() == pytest.approx((high - low) / 2)
        assert cell["degrees_of_freedom"].item() == truth.df
        assert cell["contrast"].item() / cell["contrast_se"].item() == pytest.approx(truth.statistic)


@pytest.mark.parametrize(("dim", "a", "b"), [("head", "0:0", "1:0"), ("step", 20, 0)])
def test_contrast_of_heads_and_of_steps_is_welchs(dim, a, b):
    data = estimates()
    data["rllc_chain"][0, 2, 0, 0, 1] = np.nan
    got = contrast(data, dim=dim, a=a, b=b, confidence=0.9)
    assert dim not in got.coords and ("layer" in got.coords) == (dim != "head")
    pick = {"seed": 0, "distribution": "english"} | ({"step": 20} if dim == "head" else {"head": "0:0"})
    one, two = (data["rllc_chain"].sel(pick).sel({dim: label}).dropna("chain") for label in (a, b))
    truth = stats.ttest_ind(one, two, equal_var=False)
    low, high = truth.confidence_interval(0.9)
    cell = got.sel(pick)
    assert cell["contrast"].item() == pytest.approx((low + high) / 2)
    assert cell["half_width"].item() == pytest.approx((high - low) / 2)
    assert cell["degrees_of_freedom"].item() == pytest.approx(truth.df)
    assert cell["unpaired_se"].item() == pytest.approx(cell["contrast_se"].item())
    paired = contrast(data, dim=dim, a=a, b=b, shared_noise=True).sel(pick)
    assert paired["degrees_of_freedom"].item() == CHAINS - 2


def test_steps_are_paired_by_chain_where_the_sampling_was_seeded():
    data = estimates().assign_attrs(sampling='{"seeded": true}')
    got = contrast(data, dim="step", a=20, b=0)
    xr.testing.assert_identical(got, contrast(data, dim="step", a=20, b=0, shared_noise=True))
    assert got.attrs["shared_noise"] == 1
    assert contrast(data, dim="head", a="0:0", b="1:0").attrs["shared_noise"] == 0
    assert contrast(estimates(), dim="step", a=20, b=0).attrs["shared_noise"] == 0


def test_failed_chains_are_left_out_in_pairs():
    data = estimates()
    data["rllc_chain"][0, 0, 0, 1, 2] = np.nan
    data["rllc_chain"][0, 1, 0, 0, 1:] = np.nan
    data["rllc_chain"][0, 2, 0, 0, 3] = np.nan
    got = contrast(data, dim="distribution", a="code", b="english").isel(seed=0, head=0)
    chains = data["rllc_chain"][0, :, 0]
    kept = np.delete((chains[0, 1] - chains[0, 0]).values, 2)
    assert got["contrast_se"][0].item() == pytest.approx(kept.std(ddof=1) / np.sqrt(3))
    assert got["degrees_of_freedom"][[0, 2]].values.tolist() == [2, 2]
    assert np.isnan(
        [got[name][1].item() for name in ("contrast_se", "degrees_of_freedom", "half_width")]
    ).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dim": "seed", "a": 0, "b": 1}, "another seed"),
        ({"dim": "chain", "a": 0, "b": 1}, "along 'chain'"),
        ({"dim": "head", "a": "0:0", "b": "9:9"}, "no head '9:9'"),
        ({"dim": "step", "a": 0, "b": 10, "name": "llc"}, "no llc_chain"),
        ({"dim": "step", "a": 0, "b": 10, "confidence": 95}, "between 0 and 1"),
    ],
)
def test_what_cannot_be_contrasted(options, said):
    with pytest.raises(ValueError, match=said):
        contrast(estimates(), **options)


def test_what_figures_take_of_heads_is_what_their_contrasts_read():
    """Of estimates with pairs and of those without."""
    plain = estimates()
    chains, level = plain["rllc_chain"], plain["rllc_chain"].mean("chain")
    more = {"rllc_reduced_chain": chains / 2, "rllc_se_control": level}
    for dataset in (plain, plain.assign(more)):
        taken = dataset.assign(rllc=level)[[name for name in BY_CHAIN if name in dataset]]
        for found, expected in zip(by_chain(taken), by_chain(dataset), strict=True):
            xr.testing.assert_identical(found, expected)


def story():
    coords = {"step": [0, 10, 20, 30], "head": ["1:0", "1:1", "1:2"]}
    return xr.DataArray(
        [[1, 1, 2], [3, 1, 2], [5, 2, 1], [6, 2, np.nan]], dims=("step", "head"), coords=coords
    )


def test_lead_over_the_highest_other():
    values = story()
    found = lead(values, head="1:0", others=["1:1", "1:2"])
    np.testing.assert_allclose(found["lead"], [-1, 1, 3, 4])
    assert found["rival"].values.tolist() == ["1:2", "1:2", "1:1", "1:1"]
    assert "lead_se" not in found
    with pytest.raises(ValueError, match="empty"):
        lead(values, head="1:0", others=[])


def test_the_error_of_a_lead_is_that_of_the_contrast_with_the_rival():
    values = story()
    random = np.random.default_rng(3)
    chains = (
        values + xr.DataArray(random.normal(size=(4, 3, 4)), dims=("step", "head", "chain"))
    ).assign_coords(layer=("head", [1, 1, 1]))
    means = chains.mean("chain")
    found = lead(means, head="1:0", others=["1:1", "1:2"], chains=(chains, 0 * means), confidence=0.8)
    for step, rival in zip(found["step"].values, found["rival"].values, strict=True):
        truth = contrast(xr.Dataset({"rllc_chain": chains}), dim="head", a="1:0", b=rival, confidence=0.8)
        truth = truth.sel(step=step)
        cell = found.sel(step=step)
        pairs = {"lead": "contrast", "lead_se": "contrast_se", "half_width": "half_width"}
        for mine, its in pairs.items():
            assert cell[mine].item() == pytest.approx(truth[its].item())
    masked = lead(
        means.where(means["step"] != 20), head="1:0", others=["1:1", "1:2"], chains=(chains, 0 * means)
    )
    for name in ("lead", "lead_se", "half_width"):
        np.testing.assert_array_equal(masked[name].isnull(), [False, False, True, False])


@pytest.mark.parametrize(
    ("values", "threshold", "expected"),
    [
        ([-1, 1, 3, 4], 0.0, 10),
        ([-1, 1, 3, 4], 2.0, 20),
        ([-1, 1, 3, 4], 1.0, 20),  # at the threshold is not above it
        ([5, -1, 3, 4], 0.0, 20),  # leaves again: counts from the last return
        ([1, 2, 3, 4], 0.0, 0),
        ([-1, -1, -1, 4], 0.0, np.nan),  # the last checkpoint alone is no onset
        ([-1, -1, -1, -1], 0.0, np.nan),
        ([-1, 1, np.nan, 4], 0.0, 10),  # a missing cell neither makes nor breaks it
        ([-1, np.nan, 3, 4], 0.0, 20),
        ([np.nan] * 4, 0.0, np.nan),
    ],
)
def test_onset(values, threshold, expected):
    excess = xr.DataArray(values, dims="step", coords={"step": [0, 10, 20, 30]})
    np.testing.assert_equal(onset(excess, threshold=threshold), expected)


def test_a_step_whose_threshold_is_missing_is_a_missing_step():
    excess = xr.DataArray([-1.0, 1, 3, 4], dims="step", coords={"step": [0, 10, 20, 30]})
    np.testing.assert_equal(onset(excess, threshold=xr.full_like(excess, 0).where(excess != 3)), 10)
    np.testing.assert_equal(onset(excess, threshold=xr.full_like(excess, 0).where(excess != 1)), 20)
