"""What a setting refuses: estimator/test_hostile_calls.py."""

from dataclasses import asdict, replace

from rllc.estimator.samplers import by_name
from rllc.sampler_config import SAMPLERS, RmspropOptions, SamplerConfig

GIVEN = {"n_beta": 30.0, "localization": 5.0, "step_size": 0.01, "chains": 3, "draws": 12}


def test_a_setting_is_made_from_plain_data_and_gives_it_back():
    setting = SamplerConfig(**GIVEN, sampler="rmsprop", sampler_options={"decay": 0.5})
    assert SamplerConfig(**asdict(setting)) == setting
    assert setting.options == RmspropOptions(decay=0.5, stabilizer=0.1)
    rest = {
        "burn_in": 0,
        "thinning": 1,
        "seed": 0,
        "gradient": 1,
        "drift_free": 0,
        "baseline": "paired",
        "antithetic_pairs": 0,
    }
    rest |= {"divergence_factor": 5.0, "sampler": "rmsprop", "decay": 0.5, "stabilizer": 0.1}
    assert setting.facts() == GIVEN | rest  # plain numbers and text, for attributes
    section = {**GIVEN, "batch_size": 8, "components": None}
    assert SamplerConfig.of(section, seed=7) == SamplerConfig(**GIVEN, seed=7)
    assert replace(setting, thinning=3).moves == 33


def test_every_sampler_of_a_config_has_a_module_that_moves_chains():
    assert by_name.SAMPLERS.keys() == SAMPLERS.keys()
    assert all(callable(module.advance) for module in by_name.SAMPLERS.values())
