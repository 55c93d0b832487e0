"""Listed numbers and the claimants' own curves beside the claims."""

from dataclasses import replace

import pytest
from tests.claims.judged import a_claim, claims
from tests.claims.runs import LANGUAGE, rllc

from rllc.claims import Experiment, maximum
from rllc.claims.claim import number
from rllc.claims.judge import judge


def test_listed_numbers_stand_beside_the_claims_by_experiment_and_seed():
    @number("largest rLLC of 0:0")
    def largest(run):
        return maximum(run.curve("rllc.rllc", heads=["0:0"], distribution="mixture")).squeeze()

    other = Experiment("other", "sorting")
    made = judge(
        claims(a_claim()), {"language": LANGUAGE, "other": other}, {"language": {"rllc": rllc()}, "other": {}},
        numbers=[largest.statistic],
    )  # fmt: skip
    assert made["largest"].sel(experiment="language", seed=0).item() == 2
    assert made["largest"].sel(experiment="other").isnull().all()
    assert made["largest_se"].sel(experiment="language", seed=0).item() == pytest.approx(0.1, rel=0.1)


def test_published_curves_give_their_number_by_seed():
    theirs = replace(LANGUAGE, label="theirs")
    each = [replace(one, work="heads") for one in claims(a_claim(experiment="language"))]
    made = judge(
        each, {"language": LANGUAGE}, {"language": {"rllc": rllc()}},
        published={"heads": [(theirs, {"rllc": 2 * rllc(seeds=(0, 4)).drop_vars("quality")})]},
    )  # fmt: skip
    assert made["published_value"].values.tolist() == [[3.0, 3.0]] and made[
        "published_seed"
    ].values.tolist() == [0, 4]
