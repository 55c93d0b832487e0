import numpy as np
import xarray as xr

from rllc.analysis.claims import judge
from rllc.analysis.columns import RESERVED
from rllc.analysis.functions import OPTIONS
from rllc.study.claims import Statistic


def test_every_option_of_a_function_is_a_key():
    assert {option for options in OPTIONS.values() for option in options} <= set(Statistic.model_fields)


def test_reserved_names_are_those_of_the_claims_table():
    summary = xr.Dataset({"last_step": ("seed", np.array([9.0]))}, {"seed": [0]})
    assert set(judge({}, {"a": summary}).variables) == set(RESERVED)
