from dataclasses import asdict, replace

import pytest

from rllc.setting import Setting

GIVEN = {"n_beta": 30.0, "localization": 5.0, "step_size": 0.01, "chains": 3, "draws": 12}


def test_a_setting_is_made_from_plain_data_and_gives_it_back():
    setting = Setting(**GIVEN, sampler="rmsprop", sampler_options={"decay": 0.5})
    assert Setting(**asdict(setting)) == setting
    assert setting.options == {"decay": 0.5, "stabilizer": 0.1}
    facts = setting.facts()
    assert (facts["gradient"], facts["sampler"], facts["decay"], facts["burn_in"]) == (1, "rmsprop", 0.5, 0)
    section = {**GIVEN, "batch_size": 8, "components": None}
    assert Setting.of(section, seed=7) == Setting(**GIVEN, seed=7)
    assert replace(setting, thinning=3).moves == 33


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step_size": float("inf")}, "step_size"),
        ({"sampler": "rmsprop", "sampler_options": {"decay": 1.0}}, "decay is 1.0: expected 0"),
        ({"sampler": "rmsprop", "sampler_options": {"decay": -0.1}}, "decay"),
        (
            {"sampler": "rmsprop", "sampler_options": {"stabilizer": 0.0}},
            "stabilizer is 0.0: expected a positive",
        ),
    ],
)
def test_what_is_out_of_range_is_refused(change, message):
    """The rest is refused through ``llc.estimate`` (estimator/test_llc.py)."""
    with pytest.raises(ValueError, match=message):
        Setting(**{**GIVEN, **change})
