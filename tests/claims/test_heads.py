"""Numbers of claims about heads, against plain loops over small runs."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.claims.runs import LANGUAGE, run

from rllc.analysis.curves import NotJudged
from rllc.claims import heads
from rllc.claims.run import Absent

STEPS = [0, 50, 100, 400, 1600, 3000]
HEADS = ["0:0", "0:1", "0:2", "1:0", "1:1", "1:2"]
TYPES = ["previous-token", "current-token", "multigram", "induction", "induction", "multigram"]
TEXTS = ["mixture", "code", "one_layer"]


@pytest.fixture
def datasets():
    random = np.random.default_rng(7)
    step = np.asarray(STEPS, dtype=float)
    shape = (1, len(STEPS), len(HEADS))
    rise = 1 + np.minimum(step, 400)[:, None] / 400 - 0.3 * np.maximum(step - 400, 0)[:, None] / 2600
    rllc = random.uniform(1, 3, (1, 1, len(HEADS), 3)) * rise[None, :, :, None] + random.normal(
        0, 0.05, (*shape, 3)
    )
    matching = np.zeros(shape)
    matching[0, 3:, 3] = 0.3  # induction begins at step 400
    coords = {"seed": [0], "step": STEPS, "head": HEADS}
    dims = ("seed", "step", "head")
    costs = random.uniform(0.1, 1, (*shape, 3)) * (1 + np.arange(len(STEPS)))[None, :, None, None]
    trace = random.uniform(1, 9, (*shape, 2))
    return {
        "rllc": xr.Dataset(
            {"rllc": ((*dims, "distribution"), rllc), "rllc_se": ((*dims, "distribution"), np.full_like(rllc, 1e-3))},
            {**coords, "distribution": TEXTS},
        ),
        "heads": xr.Dataset(
            {"prefix_matching": (dims, matching), "head_type": (("seed", "head"), np.asarray([TYPES], object))}, coords
        ),
        "ablation": xr.Dataset(
            {"ablation": ((*dims, "distribution", "method"), costs[:, :, :, None])},
            {**coords, "distribution": ["mixture"], "method": ["zero", "mean", "resample"]},
        ),
        "hessian": xr.Dataset(
            {
                "hessian_trace_head": ((*dims, "distribution"), trace),
                "hessian_trace_head_se": ((*dims, "distribution"), np.full_like(trace, 0.01)),
            },
            {**coords, "distribution": ["mixture", "code"]},
            {"hessian": json.dumps({"probes": 4})},
        ),
    }  # fmt: skip


def of(function, datasets, **options):
    return float(function(run(datasets, **options)))


def table(datasets, text="mixture", variable="rllc.rllc"):
    """Values [step, head] of a text."""
    name, _, short = variable.rpartition(".")
    return datasets[name][short].sel(seed=0, distribution=text).values


def test_types_level_equals_eta_squared_within_layers(datasets):
    last, total, within = table(datasets)[-1], 0.0, 0.0
    for layer in ("0", "1"):
        inside = [n for n, head in enumerate(HEADS) if head.startswith(layer)]
        total += ((last[inside] - last[inside].mean()) ** 2).sum()
        for kind in {TYPES[n] for n in inside}:
            group = last[[n for n in inside if TYPES[n] == kind]]
            within += ((group - group.mean()) ** 2).sum()
    assert of(heads.types_level, datasets) == pytest.approx(1 - within / total)


def test_induction_heads_apart_equal_their_range_over_their_mean(datasets):
    ratios = []
    for text in ("mixture", "code"):
        pair = table(datasets, text)[-1][[3, 4]]
        ratios.append(np.ptp(pair) / pair.mean())
    assert of(heads.induction_equal_on_pile, datasets) == pytest.approx(ratios[0])
    assert of(heads.induction_apart_on_code, datasets) == pytest.approx(ratios[1] / ratios[0])


def test_claims_on_two_induction_heads_need_two(datasets):
    kinds = datasets["heads"]["head_type"].values.copy()
    kinds[0, 4] = "multigram"
    datasets["heads"]["head_type"] = ("seed", "head"), kinds
    with pytest.raises(NotJudged, match="needs 2 induction heads, has 1"):
        heads.induction_equal_on_pile(run(datasets))


def test_induction_begins_at_the_first_head_that_reaches_the_score(datasets):
    assert heads.induction_begins(run(datasets)) == 400
    datasets["heads"]["prefix_matching"] *= 0.1
    with pytest.raises(NotJudged):
        heads.induction_begins(run(datasets))


def test_one_layer_ratios_equal_loops_over_heads(datasets):
    text, generated = table(datasets), table(datasets, "one_layer")
    late = np.asarray(STEPS) >= 50
    ratio, step = (generated / text)[late], np.asarray(STEPS)[late]
    early = ratio[step <= 400]
    assert of(heads.l1_alike_early, datasets) == pytest.approx(np.abs(early - 1).mean())
    falls = [ratio[-1, n] <= early[:, n].mean() for n in range(len(HEADS))]
    assert of(heads.l1_decrease_all, datasets) == pytest.approx(np.mean(falls))
    gain = np.log2(ratio[-1] / early.mean(0))
    assert of(heads.l1_decrease_groups, datasets) == pytest.approx(gain[:5].mean() - gain[5])


def test_one_layer_share_that_turns_negative_has_fallen(datasets):
    """A logarithm of the ratio would be undefined; the claim was not judged for that before."""
    datasets["rllc"]["rllc"].loc[{"distribution": "one_layer", "step": 3000}] = -0.2
    assert of(heads.l1_decrease_all, datasets) == 1


def test_multigram_falls_leave_out_heads_of_other_types(datasets):
    """Only 0:2 is a multigram head of layer 0; the others of the layer do not move its number."""
    values = table(datasets)[1:, 2]  # from step 50 on
    means = np.convolve(values, np.ones(3) / 3, "valid")
    after = means[means.argmax() :]
    assert of(heads.multigrams_fall, datasets) == pytest.approx(1 - after.min() / means.max())
    assert of(heads.multigrams_fall_each, datasets) == pytest.approx(1 - means[-1] / means.max())
    datasets["rllc"]["rllc"].loc[{"head": ["0:0", "0:1"]}] = 100.0
    assert of(heads.multigrams_fall, datasets) == pytest.approx(1 - after.min() / means.max())


def test_orders_of_heads_equal_spearman_of_scipy(datasets):
    last = table(datasets)[-1]
    trace = table(datasets, variable="hessian.hessian_trace_head")[-1]
    cost = (
        datasets["ablation"]["ablation"]
        .sel({"seed": 0, "distribution": "mixture", "method": "resample"})
        .values[-1]
    )
    assert of(heads.trace_order, datasets) == pytest.approx(stats.spearmanr(trace, last).statistic)
    assert of(heads.resample_order, datasets) == pytest.approx(stats.spearmanr(cost, last).statistic)


def test_shapes_of_ablations_equal_the_mean_of_their_correlations(datasets):
    costs = datasets["ablation"]["ablation"].sel(seed=0, distribution="mixture")
    each = [
        stats.spearmanr(
            costs.sel({"method": one}).values[:, n], costs.sel({"method": other}).values[:, n]
        ).statistic
        for one, other in (("zero", "mean"), ("zero", "resample"), ("mean", "resample"))
        for n in range(len(HEADS))
    ]
    assert of(heads.methods_same_shape, datasets) == pytest.approx(np.mean(each))


def test_costs_of_ablation_rise_from_their_early_mean(datasets):
    costs = (
        datasets["ablation"]["ablation"].sel(seed=0, distribution="mixture").values
    )  # [step, head, method]
    gain = np.log2(costs[-1] / costs[:4].mean(0))
    assert of(heads.prev_rises, datasets) == pytest.approx(gain[0].mean())
    assert of(heads.induction_rises, datasets) == pytest.approx(gain[[3, 4]].max(0).mean())
    with pytest.raises(NotJudged, match="training ends at step 3,000"):
        heads.prev_rises_lm4(run(datasets))


def test_roughness_that_noise_explains_is_not_judged(datasets):
    """Four probes made a trace look rougher than the rLLC; with its errors known nothing is left to compare."""
    assert of(heads.trace_rougher, datasets) > 1
    datasets["hessian"]["hessian_trace_head_se"] += 100.0
    with pytest.raises(NotJudged, match="noise"):
        heads.trace_rougher(run(datasets))


def test_counts_of_heads_by_type(datasets):
    assert of(heads.one_current, datasets) == 1
    assert of(heads.induction_equals_previous, datasets) == 1
    assert of(heads.previous_one_or_two, datasets) == 1


def test_claim_on_a_dataset_that_is_not_there_is_absent(datasets):
    del datasets["ablation"]
    with pytest.raises(Absent):
        heads.resample_order(run(datasets))
    with pytest.raises(Absent):
        heads.types_level_likelihood(run(datasets))


def tokens(count, shares):
    """A table of numbers by tokens in context, of which each head has so many."""
    made = {name: (("seed", "step"), [[value]]) for name, value in shares.items()}
    attributes = {"tokens": json.dumps({"top": count})}
    return {
        "classification": xr.Dataset(made, {"seed": [0], "step": [3000]}),
        "tokens": xr.Dataset(coords={"seed": [0], "step": [3000]}, attrs=attributes),
    }


def test_share_of_tokens_has_the_error_of_a_binomial(datasets):
    given = datasets | tokens(400, {"dyck_share": 0.8, "dyck_share_gained": 0.1})
    drawn = heads.dyck_pure(run(given, noise="own"))
    assert float(drawn.std()) == pytest.approx(np.sqrt(0.8 * 0.2 / 400), rel=0.1)
    difference = heads.dyck_late(run(given, noise="own"))
    assert float(difference.std()) == pytest.approx(np.sqrt(2 * 0.25 / 400), rel=0.1)


def test_correlation_of_multigrams_pools_ranks_within_seeds_and_needs_five_heads():
    labels = [f"{layer}:{n}" for layer in range(2) for n in range(4)]
    random = np.random.default_rng(3)
    seeds, step = [0, 1], [0, 3000]
    counts, level = random.random((2, 2, 8)), random.random((2, 2, 8, 1))
    coords = {"seed": seeds, "step": step, "head": labels}
    given = {
        "tokens": xr.Dataset({"multigrams": (("seed", "step", "head"), counts)}, coords),
        "rllc": xr.Dataset(
            {"rllc": (("seed", "step", "head", "distribution"), level)},
            {**coords, "distribution": ["mixture"]},
        ),
        "heads": xr.Dataset({"head_type": (("seed", "head"), np.full((2, 8), "multigram", object))}, coords),
    }
    pairs = [[stats.rankdata(x) - 4.5 for x in (counts[s, 1], level[s, 1, :, 0])] for s in range(2)]
    one, other = (np.concatenate(each) for each in zip(*pairs, strict=True))
    expected = one @ other / np.sqrt((one @ one) * (other @ other))
    assert of(heads.multigram_correlation_both, given) == pytest.approx(expected)
    assert of(heads.multigram_correlation_both, given, seed=1) == pytest.approx(expected), (
        "one number for all seeds"
    )
    given["heads"]["head_type"][:, 2:] = "induction"
    with pytest.raises(NotJudged, match="needs 5 multigram heads"):
        heads.multigram_correlation_both(run(given))


def test_claims_are_about_language_models_of_several_layers():
    from dataclasses import replace

    (one,) = heads.types_level.claims
    assert one.applies(LANGUAGE) and not one.applies(replace(LANGUAGE, layers=1))
    assert not one.applies(replace(LANGUAGE, task="sorting"))
