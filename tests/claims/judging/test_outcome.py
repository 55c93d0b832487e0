"""Passes and verdicts over seeds, and comparisons with another experiment."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.claims.judged import FAIL, PASS, UNDECIDED, a_claim, claims, judged
from tests.claims.runs import LANGUAGE, rllc

from rllc.claims import last
from rllc.claims.columns import VARIABLES
from rllc.claims.judge import judge
from rllc.claims.judging.outcome import decide, verdict


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"at_least": 1.0}, "holds"),
        ({"at_least": 2.0}, "does not"),
        ({"at_least": 1.45}, "undecided"),
        ({"at_most": 1.0}, "does not"),
        ({"at_least": 1.0, "at_most": 2.0}, "holds"),
        ({"at_least": 1.55, "at_most": 2.0}, "undecided"),
    ],
)
def test_verdict_where_the_interval_lies_within_beyond_or_across_a_bound(bounds, expected):
    """The last value of 0:0 is 2 - 0.25 * 2 = 1.5, with an error of 0.1."""
    made = judged(a_claim(**{"at_least": None, **bounds}))
    assert made["verdict"].item() == expected
    assert made["value"].item() == pytest.approx(1.5)
    assert made["value_se"].item() == pytest.approx(0.1, rel=0.08)
    assert set(made.data_vars) >= set(VARIABLES) - {"published_value"}


def test_claim_on_a_step_beyond_the_training_is_not_reached():
    assert judged(a_claim(reached=500))["verdict"].item() == "not reached"


def test_presupposed_claim_that_fails_leaves_the_other_undecided():
    base = a_claim(at_least=2.0, name="base")
    other = a_claim(lambda run: 1.0, name="other", at_least=0.5, given="base")
    made = judged(base, other)
    assert made["verdict"].values.tolist() == ["does not", "undecided"]
    assert "presupposes base" in made["reason"].values[1]
    with pytest.raises(ValueError, match="presupposes"):
        judged(a_claim(lambda run: 1.0, name="other", given="nothing"))


@pytest.mark.parametrize("ratio", [False, True])
def test_comparison_with_another_experiment_propagates_both_errors(ratio):
    function = lambda run: last(run.curve("rllc.rllc", heads=["0:0"], distribution="mixture")).squeeze()  # noqa: E731
    made_of = a_claim(function, experiment="language", versus="other", ratio=ratio)
    other = {"rllc": rllc(seeds=(0, 1), error=0.3)}
    experiments = {"language": LANGUAGE, "other": replace(LANGUAGE, name="other")}
    made = judge(claims(made_of), experiments, {"language": {"rllc": rllc()}, "other": other})
    error = 0.3 / np.sqrt(2)
    assert made["compared_with"].item() == pytest.approx(1.5)
    assert made["value"].values[0, 0] == pytest.approx(1.0 if ratio else 0.0)
    expected = np.hypot(0.1, error) / (1.5 if ratio else 1)
    assert made["value_se"].values[0, 0] == pytest.approx(expected, rel=0.1)


@given(st.floats(-5, 5), st.floats(0.01, 3), st.integers(2, 50))
def test_decision_equals_a_two_sided_students_test(value, error, freedom):
    passes = decide(
        np.array([value]), np.array([error]), np.array([float(freedom)]), claims(a_claim(at_least=0.0))[0]
    )
    p = stats.t.sf(abs(value) / error, freedom)
    if abs(p - 0.025) > 1e-9:
        assert passes[0] == (UNDECIDED if p > 0.025 else PASS if value > 0 else FAIL)


@given(st.lists(st.sampled_from([PASS, FAIL, UNDECIDED]), min_size=1, max_size=6))
def test_verdict_is_that_of_every_way_in_which_undecided_seeds_turn_out(passes):
    def of(flags):
        return (
            "holds"
            if all(f == PASS for f in flags)
            else "does not"
            if all(f == FAIL for f in flags)
            else "half"
        )

    ways = [[]]
    for flag in passes:
        ways = [[*way, each] for way in ways for each in ((PASS, FAIL) if flag == UNDECIDED else (flag,))]
    expected = {of(way) for way in ways}
    assert verdict(np.asarray(passes)) == (expected.pop() if len(expected) == 1 else "undecided")


@pytest.mark.parametrize(
    ("seeds", "bound", "expected", "said"),
    [
        ((0,), 1.0, "undecided", "the only seed judged passes"),
        ((0, 1), 1.0, "undecided", "all 2 seeds judged pass"),
        ((0, 1, 2), 1.0, "holds", ""),
        ((0,), 2.0, "does not", ""),
    ],
)
def test_claim_on_every_run_is_refuted_by_one_seed_and_holds_by_three(seeds, bound, expected, said):
    """The last value of 0:0 is 1.5 in every seed, and 5 of the control."""
    made = judged(a_claim(at_least=bound, seeds=3), datasets={"rllc": rllc(seeds=seeds)})
    assert made["verdict"].item() == expected
    assert made["seeds_needed"].item() == 3
    assert said in made["reason"].item() and bool(said) == ("3 seeds" in made["reason"].item())
    assert made["control_verdict"].item() == ("holds" if len(seeds) == 3 else "undecided")


def test_claim_that_needs_no_seed_is_refused():
    with pytest.raises(ValueError, match="0 seeds"):
        a_claim(seeds=0)
