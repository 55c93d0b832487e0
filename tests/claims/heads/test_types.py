"""rLLC by type: claims against plain loops over a small run."""

from itertools import permutations, product

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.claims.heads.small import HEADS, TYPES, of, table
from tests.claims.runs import LANGUAGE, run

from rllc.analysis.curves import NotJudged
from rllc.claims.heads import types
from rllc.claims.judge import judge


def test_types_level_equals_eta_squared_within_layers(datasets):
    last, total, within = table(datasets)[-1], 0.0, 0.0
    for layer in ("0", "1"):
        inside = [n for n, head in enumerate(HEADS) if head.startswith(layer)]
        total += ((last[inside] - last[inside].mean()) ** 2).sum()
        for kind in {TYPES[n] for n in inside}:
            group = last[[n for n in inside if TYPES[n] == kind]]
            within += ((group - group.mean()) ** 2).sum()
    assert of(types.types_level, datasets) == pytest.approx(1 - within / total)


def pooled():
    """Two seeds of eight multigram heads, with random numbers of multigrams and random rLLCs."""
    labels = [f"{layer}:{n}" for layer in range(2) for n in range(4)]
    random = np.random.default_rng(3)
    seeds, step = [0, 1], [0, 3000]
    counts, level = random.random((2, 2, 8)), random.random((2, 2, 8, 1))
    coords = {"seed": seeds, "step": step, "head": labels}
    made = {
        "tokens": xr.Dataset({"multigrams": (("seed", "step", "head"), counts)}, coords),
        "rllc": xr.Dataset(
            {"rllc": (("seed", "step", "head", "distribution"), level)},
            {**coords, "distribution": ["mixture"]},
        ),
        "attention_scores": xr.Dataset(
            {"head_type": (("seed", "head"), np.full((2, 8), "multigram", object))}, coords
        ),
    }
    return made, counts, level


def test_correlation_of_multigrams_pools_ranks_within_seeds_and_needs_five_heads():
    given, counts, level = pooled()
    pairs = [[stats.rankdata(x) - 4.5 for x in (counts[s, 1], level[s, 1, :, 0])] for s in range(2)]
    one, other = (np.concatenate(each) for each in zip(*pairs, strict=True))
    expected = one @ other / np.sqrt((one @ one) * (other @ other))
    assert of(types.multigram_correlation_both, given) == pytest.approx(expected)
    assert of(types.multigram_correlation_both, given, seed=1) == pytest.approx(expected), (
        "one number for all seeds"
    )
    given["attention_scores"]["head_type"][:, 2:] = "induction"
    with pytest.raises(NotJudged, match="needs 5 multigram heads"):
        types.multigram_correlation_both(run(given))


@pytest.mark.parametrize("seeds", [[0], [0, 1]])
def test_correlation_of_multigrams_has_the_chance_level_of_shuffled_numbers_in_every_seed(seeds):
    """One number for all seeds counts once: its chance level is no product over seeds."""
    given, *_ = pooled()
    given["attention_scores"]["head_type"][:, 3:] = "induction"
    given["attention_scores"]["head_type"][:, 6:] = "multigram"  # of five heads, 22.5 % of orders pass
    given["rllc"]["rllc"][:] = given["tokens"]["multigrams"].values[..., None]
    given = {name: each.sel(seed=seeds) for name, each in given.items()}
    found = judge(types.multigram_correlation_both.claims, {LANGUAGE.name: LANGUAGE}, {LANGUAGE.name: given})
    assert found["value"].values.ravel() == pytest.approx([1] * len(seeds))
    exact = np.mean([*shares(len(seeds))])
    assert len(seeds) > 1 or exact == 27 / 120
    assert exact > 0.07
    assert found["chance"].item() == pytest.approx(exact, abs=0.09)
    assert found["verdict"].item() == "not judged"


def shares(count):
    """Whether the correlation of five numbers in each of so many seeds passes, in all orders."""
    ranks = np.arange(5) - 2.0
    each = [float(ranks @ order) for order in permutations(ranks)]
    for orders in product(each, repeat=count):
        yield sum(orders) / (10 * count) >= 0.5


def brackets(level):
    """Three multigram heads of layer 1, with their rLLCs at the end; brackets explain most of 1:0."""
    heads, step = ["0:0", "1:0", "1:1", "1:2"], [0, 3000]
    coords = {"seed": [0], "step": step, "head": heads}
    share = np.zeros((1, 2, 4, 1))
    share[0, 1, :, 0] = 0.9, 0.6, 0.1, 0.0
    values = np.asarray([[0.0, *level]] * 2)[None, ..., None]
    return {
        "tokens": xr.Dataset(
            {"share": (("seed", "step", "head", "pattern"), share)}, {**coords, "pattern": ["dyck"]}
        ),
        "rllc": xr.Dataset(
            {
                "rllc": (("seed", "step", "head", "distribution"), values),
                "rllc_se": (("seed", "step", "head", "distribution"), np.full_like(values, 1e-3)),
            },
            {**coords, "distribution": ["mixture"]},
        ),
        "attention_scores": xr.Dataset(
            {"head_type": (("seed", "head"), np.full((1, 4), "multigram", object))}, coords
        ),
    }


@pytest.mark.parametrize(
    ("kind", "level", "chance", "verdict"),
    [
        ("multigram", (1.0, 2.0, 3.0), 2 / 3, "not judged"),  # 2 is below the mean of 1 and 3, or equal
        ("multigram", (3.0, 1.0, 2.0), 2 / 3, "does not"),
        ("induction", (1.0, 2.0, 3.0), 1 / 2, "not judged"),
    ],
)
def test_bracket_head_has_the_chance_level_of_any_head_compared(kind, level, chance, verdict):
    given = brackets(level)
    given["attention_scores"]["head_type"][0, 3] = kind  # of two heads compared, one passes
    found = judge(types.simple_is_low_dyck.claims, {LANGUAGE.name: LANGUAGE}, {LANGUAGE.name: given})
    assert found["chance"].item() == pytest.approx(chance, abs=0.12)
    assert found["verdict"].item() == verdict
