"""Shuffles of types of heads, and claims that pass under them."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.judged import NOT_JUDGED, TYPES, a_claim, judged
from tests.claims.runs import rllc, scores

from rllc.claims import last
from rllc.claims.judging.chance import shuffles


def test_shuffles_are_all_different_orders_within_layers():
    types = scores(["a", "b", "c", "c"])["head_type"].isel(seed=0)
    made = [each.values.tolist() for each in shuffles(types, 200, np.random.default_rng(0))]
    assert sorted(made) == [["a", "b", "c", "c"], ["b", "a", "c", "c"]]


def test_shuffles_of_many_heads_are_random_and_keep_the_layers():
    heads = [f"{layer}:{n}" for layer in range(2) for n in range(8)]
    types = scores([*"aaaabbbb", *"cccddddd"], heads=heads)["head_type"].isel(seed=0)
    made = shuffles(types, 50, np.random.default_rng(0))
    assert len(made) == 50 and len({tuple(each.values) for each in made}) > 40
    for each in made:
        assert sorted(each.values[:8]) == [*"aaaabbbb"] and sorted(each.values[8:]) == [*"cccddddd"]


def highest_induction(run):
    """Whether the induction head has the largest rLLC of its layer at the end."""
    values = last(run.curve("rllc.rllc", heads=run.heads(layer=1), distribution="mixture"))
    return (values.sel(head=run.heads("induction")[0]) >= values.max("head")).astype(float)


def test_claim_that_shuffled_types_pass_too_often_is_not_judged():
    """1:1 is the induction head and the highest of two: of the orders of its layer a half passes."""
    few = {
        "rllc": rllc(error=1e-6),
        "attention_scores": scores(["multigram", "multigram", "multigram", "induction"]),
    }
    made = judged(a_claim(lambda run: highest_induction(run), at_least=1.0), datasets=few)
    assert made["chance"].item() == pytest.approx(0.5) and made["shuffles"].item() == 2
    assert made["verdict"].item() == "not judged" and "50%" in made["reason"].item().replace(" ", "")


def test_claim_that_few_shuffles_pass_is_judged():
    """With 30 heads in the layer 1 in 30 orders passes; over two seeds, shuffled each by itself, 1 in 900."""
    heads = ["0:0", *(f"1:{n}" for n in range(30))]
    types = ["multigram"] * 30 + ["induction"]
    data = {
        "rllc": rllc(seeds=(0, 1), heads=heads, error=1e-6),
        "attention_scores": scores(types, seeds=(0, 1), heads=heads),
    }
    made = judged(a_claim(lambda run: highest_induction(run), at_least=1.0), datasets=data)
    assert made["verdict"].item() == "holds" and made["chance"].item() < 0.01


def test_seed_without_scores_is_left_out_of_the_shuffles():
    data = {
        "rllc": rllc(seeds=(0, 1)),
        "attention_scores": scores(["multigram", "multigram", "induction", "multigram"]),
    }
    made = judged(a_claim(lambda run: highest_induction(run), at_least=1.0), datasets=data)
    assert made["passes"].values.tolist()[0][1] == NOT_JUDGED and made["chance"].item() == 0.5


def test_claim_that_reads_no_types_has_no_chance_level():
    assert np.isnan(judged(a_claim())["chance"].item())


def test_analysis_of_types_is_made_again_for_each_shuffle():
    seen = []

    def again(datasets, types, seed, keywords):
        seen.append(tuple(types.values))
        return xr.Dataset({"number": (("seed", "step"), [[1.0]])}, {"seed": [seed], "step": [400]})

    data = {
        "rllc": rllc(),
        "attention_scores": scores(TYPES),
        "composed": xr.Dataset({"number": (("seed", "step"), [[1.0]])}, {"seed": [0], "step": [400]}),
    }
    function = lambda run: last(run.curve("composed.number"))  # noqa: E731
    made = judged(a_claim(function, at_least=0.5), datasets=data, repeat={"composed": again})
    assert len(seen) == len(set(seen)) == 2
    assert made["verdict"].item() == "not judged" and made["chance"].item() == 1


def test_count_of_heads_of_a_type_that_no_shuffle_changes_is_judged():
    def count(run):
        return run.count("induction")

    made = judged(a_claim(count, at_least=1.0, at_most=1.0))
    assert made["verdict"].item() == "holds" and np.isnan(made["chance"].item())


@pytest.mark.parametrize(("below", "chance", "verdict"), [(0.5, 0.5, "not judged"), (0.01, 0.01, "holds")])
def test_claim_with_an_order_of_its_own_has_its_share_as_chance_level(below, chance, verdict):
    """Random numbers between 0 and 1: half of them are at most 0.5."""
    options = {"at_least": None, "at_most": below, "by_chance": lambda run, random: float(random.random())}
    made = judged(a_claim(lambda run: 0.0, **options))
    assert made["chance"].item() == pytest.approx(chance, abs=0.12) and made["shuffles"].item() == 200
    assert made["verdict"].item() == verdict
    assert ("random orders" in made["reason"].item()) == (verdict == "not judged")


def test_comparison_with_an_order_of_its_own_is_refused():
    with pytest.raises(ValueError, match="by_chance is of one experiment"):
        a_claim(versus="other", by_chance=lambda run, random: 0.0)
