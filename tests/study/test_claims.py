import numpy as np
import pytest
import xarray as xr

from rllc.analysis.claims import judge
from rllc.analysis.columns import RESERVED
from rllc.analysis.functions import OPTIONS
from rllc.study.claims import Statistic
from rllc.study.reading import ConfigError, read


def test_every_option_of_a_function_is_a_key():
    assert {option for options in OPTIONS.values() for option in options} <= set(Statistic.model_fields)


def test_reserved_names_are_those_of_the_claims_table():
    summary = xr.Dataset({"last_step": ("seed", np.array([9.0]))}, {"seed": [0]})
    assert set(judge({}, {"a": summary}).variables) == set(RESERVED)


def test_a_name_that_ends_like_an_error_is_free_where_no_statistic_has_the_rest(config):
    at = {"distribution": "mixture"}
    config["statistics"]["unheard_se"] = {"label": "x", "of": "llc.llc", "statistic": "last", "at": at}
    assert "unheard_se" in read(config).statistics


def test_a_claim_of_a_curve_on_several_distributions_names_those_of_its_dataset(config):
    config["experiments"]["language"]["sampling"]["full"]["distributions"] = ["mixture", "code"]
    config["statistics"]["unsaid"] = {"label": "x", "of": "llc.llc_se", "statistic": "last"}
    claim = {"text": "x", "source": "x", "statistic": "unsaid", "at_least": 1.0}
    config["claims"]["alone"] = claim | {"experiment": "language"}
    config["claims"]["against"] = claim | {"experiment": "language_1layer", "versus": "language"}
    with pytest.raises(ConfigError) as caught:
        read(config)
    told = "llc.llc_se of 'language' is measured on mixture, code; say which in statistics.unsaid.at.distribution"
    assert {f"  - claims.{name}: {told}" for name in ("alone", "against")} <= {
        *str(caught.value).splitlines()
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("at", {"distribution": "code"}), ("divided_by", {"distribution": "code"}), ("layer", 1), ("types", ["induction"]),
        ("over_heads", "mean"), ("of_heads", "mean"), ("against", "llc.llc"), ("against_at", {"head": "0:0"}),
    ],
)  # fmt: skip
def test_what_is_made_of_statistics_takes_no_key_of_a_curve(key, value):
    given = {"label": "x", "statistic": "mean_of", "among": ["a", "b"], key: value}
    with pytest.raises(ValueError, match=f"{key}: mean_of is of numbers; leave it out"):
        Statistic.model_validate(given)
