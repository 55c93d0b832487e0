"""The row of a claim: its control, and the reasons of its seeds."""

import numpy as np
import pytest
from tests.claims.judged import FAIL, NOT_JUDGED, PASS, a_claim, judged
from tests.claims.runs import rllc

from rllc.claims import NotJudged


def test_unknown_error_is_undecided_and_unreliable_estimates_are_not_judged():
    data = rllc()
    unknown = data.assign(rllc_se=data["rllc_se"].where(data["step"] < 400))
    assert judged(a_claim(), datasets={"rllc": unknown})["verdict"].item() == "undecided"
    made = judged(a_claim(), datasets={"rllc": rllc(quality=1)})
    assert made["verdict"].item() == "not judged" and made["unreliable"].item() == 1
    assert "not reliable" in made["reason"].item()
    one = rllc(seeds=(0, 1))
    one["quality"] = one["quality"].where(one["seed"] == 0, 1)
    made = judged(a_claim(), datasets={"rllc": one})
    assert made["verdict"].item() == "undecided", "seed 0 is reliable, seed 1 is not"


def test_seeds_that_pass_and_fail_are_half_and_a_seed_without_a_value_has_its_reason():
    def at_least_seed(run):
        if run.seed == 2:
            raise NotJudged("needs two induction heads, has 1")
        return float(run.seed)

    data = {"rllc": rllc(seeds=(0, 1, 2))}
    made = judged(a_claim(at_least_seed, at_least=0.5), datasets=data)
    assert made["passes"].values.tolist() == [[FAIL, PASS, NOT_JUDGED]]
    assert made["verdict"].item() == "half"
    assert made["reason"].item() == "seed 2: needs two induction heads, has 1"


def test_control_has_its_own_value_and_verdict():
    made = judged(a_claim(at_least=1.0, at_most=2.0))
    assert made["control"].item() == 5 and made["control_verdict"].item() == "does not"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at_least": 1.45}, "crosses a bound"),
        ({"error": np.nan}, "error is not known"),
    ],
)
def test_undecided_seeds_say_why(change, said):
    bounds = {"at_least": change.pop("at_least", 0.0)}
    made = judged(a_claim(**bounds), datasets={"rllc": rllc(**change)})
    assert made["verdict"].item() == "undecided" and said in made["reason"].item()
