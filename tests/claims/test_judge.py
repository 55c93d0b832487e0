"""The table of claims: which are judged, on which experiments."""

from dataclasses import replace

import pytest
from tests.claims.judged import TYPES, a_claim, claims, judged
from tests.claims.runs import LANGUAGE, rllc, scores

from rllc.claims import last
from rllc.claims.judge import judge


def test_claim_without_its_curve_has_no_row():
    other = a_claim(lambda run: last(run.curve("llc.llc")), name="other")
    assert judged(a_claim(), other)["claim"].values.tolist() == ["a_claim"]


def test_claim_about_several_experiments_has_a_row_for_each():
    another = replace(LANGUAGE, name="another")
    data = {"rllc": rllc()}
    made = judge(
        claims(a_claim()), {"language": LANGUAGE, "another": another}, {"language": data, "another": data}
    )
    assert made["claim"].values.tolist() == ["a_claim.language", "a_claim.another"]
    only = claims(a_claim(experiment="ano*"))
    made = judge(only, {"language": LANGUAGE, "another": another}, {"language": data, "another": data})
    assert made["claim"].values.tolist() == ["a_claim"]


def of_file(function):
    return [replace(each, work="my_claims.py") for each in function.claims]


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (lambda run: last(run.curve("rllc.rlc")), {}, "rllc.rlc"),
        (lambda run: last(run.curve("rllc.rllc")), {"experiment": "langauge"}, "langauge"),
        (lambda run: 1.0, {"versus": "nothing"}, "nothing"),
    ],
)
def test_own_claim_about_nothing_is_an_error_and_not_a_missing_row(function, options, said):
    own = of_file(a_claim(function, **options))
    with pytest.raises(ValueError, match=rf"my_claims.py.*{said}"):
        judge(own, {"language": LANGUAGE}, {"language": {"rllc": rllc()}})


def test_claims_of_a_work_that_are_left_out_are_told():
    told = []
    judged(a_claim(lambda run: last(run.curve("llc.llc")), name="other"), a_claim(), tell=told.append)
    assert any("other" in line and "no llc" in line for line in told)


def test_two_claims_of_one_name_about_one_experiment_are_refused():
    with pytest.raises(ValueError, match="a_claim"):
        judged(a_claim(), a_claim())


def test_claim_left_out_of_one_experiment_of_two_is_told_with_the_reason():
    told, another = [], replace(LANGUAGE, name="another")
    judge(
        claims(a_claim()), {"language": LANGUAGE, "another": another}, {"language": {"rllc": rllc()}, "another": {"attention_scores": scores(TYPES)}},
        tell=told.append,
    )  # fmt: skip
    assert [line for line in told if "a_claim is not judged on another: " in line and "rllc" in line]


@pytest.mark.parametrize("experiments", [{}, {"language": LANGUAGE}])
def test_table_without_seeds_is_empty(experiments):
    made = judge([], experiments, {name: {} for name in experiments})
    assert dict(made.sizes)["claim"] == dict(made.sizes)["seed"] == 0
    assert made.sizes["experiment"] == len(experiments)


def test_claim_that_presupposes_itself_is_refused():
    own = [replace(each, given=each.name) for each in claims(a_claim())]
    with pytest.raises(ValueError, match="a_claim presupposes itself"):
        judge(own, {"language": LANGUAGE}, {"language": {"rllc": rllc()}})
