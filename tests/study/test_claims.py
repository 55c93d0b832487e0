import numpy as np
import pytest
import xarray as xr
from pydantic import ValidationError

from rllc.analysis.claims import judge
from rllc.analysis.columns import RESERVED
from rllc.analysis.curves import OPTIONS
from rllc.study.claims import Claim, Statistic

STATISTIC = {"label": "fall", "of": "llc.llc", "statistic": "fall"}
CLAIM = {"text": "t", "source": "s", "experiment": "a", "statistic": "x"}


def test_every_option_of_a_function_is_a_key():
    assert {option for options in OPTIONS.values() for option in options} <= set(Statistic.model_fields)


def test_reserved_names_are_those_of_the_claims_table():
    summary = xr.Dataset({"last_step": ("seed", np.array([9.0]))}, {"seed": [0]})
    assert set(judge({}, {"a": summary}).variables) == set(RESERVED)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"step": 5}, "fall takes no 'step', only value_at does"),
        ({"statistic": "value_at"}, "value_at needs 'step'"),
        ({"statistic": "step_lead", "threshold": 1.0}, "step_lead takes no 'threshold'"),
        ({"statistic": "step_lead"}, "step_lead needs 'against'"),
        ({"window": 2}, "odd"),
        ({"from_step": 100, "to_step": 99}, "from step 100 on and not after 99"),
        ({"of": "llc"}, "pattern"),
        ({"statistic": "falls"}, "fall"),
        ({"form_step": 5}, "did you mean 'from_step'"),
    ],
)
def test_a_statistic_that_makes_no_sense_is_refused(change, said):
    Statistic(**STATISTIC)
    with pytest.raises(ValidationError, match=said):
        Statistic(**{**STATISTIC, **change})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "give at_least, at_most, or both"),
        ({"at_least": 2, "at_most": 1}, "no value is at least 2 and at most 1"),
        ({"at_least": 2, "ratio": True}, "say which in 'versus'"),
        ({"at_least": 2, "versus": "a"}, "compared with itself"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(change, said):
    Claim(**CLAIM, at_least=1, at_most=1)
    with pytest.raises(ValidationError, match=said):
        Claim(**CLAIM, **change)
