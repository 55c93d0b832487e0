"""Claims whose outcome depends on a head of uncertain type."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.judged import PASS, UNDECIDED, a_claim, judged
from tests.claims.runs import HEADS, STEPS, rllc, scores

from rllc.claims import last

TYPES = ["multigram", "multigram", "induction", "multigram"]
SCORE = ": score 0.045 ± 0.004, threshold 0.05"


def uncertain(others, *, seeds=(0,), types=TYPES, of_seeds=None):
    """Attention scores with the other types of heads: {head: other type}, by default in every seed."""
    made = scores(types, seeds=seeds)
    other = [
        [others.get(head, "") if seed in (of_seeds or seeds) else "" for head in HEADS] for seed in seeds
    ]
    shape = (len(seeds), len(STEPS), len(HEADS))
    dims = ("seed", "step", "head")
    made["head_type"].attrs["thresholds"] = "previous_token >= 0.2, prefix_matching >= 0.05"
    return made.assign(
        prefix_matching=(dims, np.full(shape, 0.045)),
        prefix_matching_se=(dims, np.full(shape, 0.004)),
        head_type_other=(("seed", "head"), np.asarray(other, dtype=object)),
        head_type_uncertain=(("seed", "head"), (np.asarray(other) != "").astype(np.int8)),
    )


def level(run):
    """Mean rLLC of induction heads at the end: 1:0 has 4.5 and 1:1 has 6."""
    return last(run.curve("rllc.rllc", heads=run.heads("induction"), distribution="mixture")).mean("head")


def number(run):
    return run.count("induction")


def of(claim, heads, seeds=(0,), **options):
    return judged(
        claim, datasets={"rllc": rllc(seeds=seeds, error=1e-6), "attention_scores": heads}, **options
    )


def test_claim_that_a_flip_decides_is_undecided_and_says_why():
    heads = uncertain({"1:1": "induction"})
    made = of(a_claim(lambda run: level(run), at_most=4.6, shuffle=False), heads)
    assert made["value"].item() == pytest.approx(4.5), "the value is that of the best guess"
    assert made["passes"].item() == UNDECIDED and made["verdict"].item() == "undecided"
    assert made["reason"].item() == f"fails if head 1:1 is induction, not multigram{SCORE}"


def test_claim_that_no_flip_changes_is_decided():
    heads = uncertain({"1:1": "induction"})
    made = of(a_claim(lambda run: level(run), name="wide", at_most=5.5, shuffle=False), heads)
    assert made["verdict"].item() == "holds" and made["reason"].item() == ""


def test_claim_that_reads_no_types_is_decided():
    made = of(a_claim(at_least=0.4), uncertain({"0:0": "induction", "1:0": "multigram"}))
    assert made["verdict"].item() == "holds"


def test_numbers_of_heads_of_a_type_are_flipped_too():
    made = of(a_claim(lambda run: number(run), at_least=1.0, at_most=1.0), uncertain({"1:0": "multigram"}))
    assert made["verdict"].item() == "undecided"
    assert made["reason"].item() == f"fails if head 1:0 is multigram, not induction{SCORE}"


def test_several_heads_are_flipped_together_and_the_fewest_are_named():
    heads = uncertain({"0:0": "induction", "1:1": "induction"})
    made = of(a_claim(lambda run: number(run), name="three", at_most=2.0), heads)
    assert made["reason"].item() == (
        f"fails if head 0:0 is induction, not multigram{SCORE} and head 1:1 is induction, not multigram{SCORE}"
    )


def test_value_that_is_gone_after_a_flip_leaves_the_claim_undecided():
    made = of(
        a_claim(lambda run: level(run), name="gone", at_most=4.6, shuffle=False),
        uncertain({"1:0": "multigram"}),
    )
    assert made["reason"].item() == f"has no value if head 1:0 is multigram, not induction{SCORE}"


def test_each_seed_is_flipped_by_itself():
    heads = uncertain({"1:1": "induction"}, seeds=(0, 1), of_seeds=(1,))
    made = of(a_claim(lambda run: level(run), name="seeds", at_most=4.6, shuffle=False), heads, seeds=(0, 1))
    assert made["passes"].values.tolist() == [[PASS, UNDECIDED]]
    assert made["reason"].item().startswith("seed 1: fails if head 1:1")


def test_pooled_number_is_made_of_the_flipped_seed_and_the_others():
    """Each seed has one induction head; with 1:1 of seed 1 there are three, also as seen from seed 0."""

    def pooled(run):
        return sum(len(run.like(seed=seed, readings=run.readings).heads("induction")) for seed in (0, 1))

    heads = uncertain({"1:1": "induction"}, seeds=(0, 1), of_seeds=(1,))
    made = of(a_claim(pooled, at_most=2.0, shuffle=False), heads, seeds=(0, 1))
    assert made["passes"].values.tolist() == [[PASS, UNDECIDED]] and made["verdict"].item() == "undecided"


def test_analysis_of_types_is_made_again_of_all_seeds_for_each_flip():
    seen = []

    def again(datasets, types, seed, keywords):
        seen.append(types.values.tolist())
        many = (
            (types == "induction").sum("head").astype(float).expand_dims(step=[400]).transpose("seed", "step")
        )
        return xr.Dataset({"number": many})

    heads = uncertain({"1:1": "induction"}, seeds=(0, 1), of_seeds=(1,))
    one = xr.Dataset({"number": (("seed", "step"), [[1.0], [1.0]])}, {"seed": [0, 1], "step": [400]})
    given = {"rllc": rllc(seeds=(0, 1)), "attention_scores": heads, "composed": one}
    function = lambda run: last(run.curve("composed.number"))  # noqa: E731
    claim = a_claim(function, name="again", at_most=1.0, shuffle=False)
    made = judged(claim, datasets=given, repeat={"composed": again})
    assert made["passes"].values.tolist() == [[PASS, UNDECIDED]]
    assert seen == [[TYPES, [*TYPES[:3], "induction"]]], "once, though redraws and several claims read it"


def test_at_most_four_heads_are_flipped():
    heads = [f"1:{n}" for n in range(6)]
    data = scores(["multigram"] * 6, heads=heads)
    away = np.asarray([6, 5, 4, 3, 2, 1]) / 1000
    dims = ("seed", "step", "head")
    near = np.broadcast_to(0.05 - away, (1, len(STEPS), 6))
    data = data.assign(
        prefix_matching=(dims, near),
        prefix_matching_se=(dims, np.full(near.shape, 0.004)),
        head_type_other=(("seed", "head"), np.full((1, 6), "induction", dtype=object)),
        head_type_uncertain=(("seed", "head"), np.ones((1, 6), dtype=np.int8)),
    )
    data["head_type"].attrs["thresholds"] = "prefix_matching >= 0.05"
    seen = set()

    def none(run):
        seen.add(tuple(run.heads("induction", at_least=0)))
        return 1.0

    made = judged(
        a_claim(none, shuffle=False),
        datasets={"rllc": rllc(heads=heads), "attention_scores": data},
    )
    assert made["verdict"].item() == "holds"
    assert len(seen) == 16 and {head for each in seen for head in each} == {*heads[2:]}


def test_claim_that_presupposes_an_undecided_one_is_undecided():
    data = {"rllc": rllc(), "attention_scores": uncertain({"1:0": "multigram"})}
    first = a_claim(lambda run: number(run), name="first", at_least=1.0)
    second = a_claim(lambda run: 1.0, name="second", given="first", label="a number")
    made = judged(first, second, datasets=data).sel(claim="second")
    assert made["passes"].item() == UNDECIDED
    assert made["reason"].item() == "presupposes first, which does not pass"
