import copy
from types import SimpleNamespace

import pytest

from rllc.analysis.rule import THRESHOLDS
from rllc.run import forecast
from rllc.study import cost
from rllc.study.datasets import datasets, distributions, measured
from rllc.study.figures import FIGURES, asked_by
from rllc.study.measures.recommendation import Rule
from rllc.study.measures.table import ANALYSES, MEASURES
from rllc.study.reading import ConfigError, read
from rllc.study.rows import Work


def settings(study, name):
    """What the kernel or the analysis of a row is told."""
    experiment = study.experiments["language"]
    row = next(row for row in (*MEASURES, *ANALYSES) if row.name == name)
    section = row.declared(experiment)
    return row.settings(
        Work(study, experiment, section.get(name) if isinstance(section, dict) else section, [])
    )


def test_every_threshold_of_the_rule_is_a_key():
    assert Rule().model_dump() == THRESHOLDS


def changed(config, path, value):
    config = copy.deepcopy(config)
    *parents, last = path.split(".")
    here = config["experiments"]["language"]["calibration"]
    for name in parents:
        here = here[name]
    here[last] = value
    return config


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "checkpoints",
            [3001],
            "calibration.checkpoints: step 3001 is not measured; the nearest that is: 3000",
        ),
        (
            "dependence.checkpoints",
            [1],
            "dependence.checkpoints: step 1 is not measured; the nearest that is: 0",
        ),
        (
            "distributions",
            ["cod"],
            "no distribution of this experiment is called 'cod'; did you mean 'code'?",
        ),
        ("dependence.distributions", ["x"], "dependence.distributions: no distribution of this experiment"),
        ("seeds", [7], "calibration.seeds: there is no seed 7; the experiment has [0]"),
        ("heads.components", ["2:0"], "heads.components: component '2:0' is not in this model"),
        ("heads.components", ["full"], "heads.components: 'full' is not a head L:H"),
        ("dependence.components", ["layer:0"], "'layer:0' is not a head L:H or full"),
        ("heads.scored_positions", 128, "128 of the 127 predictions of a context"),
        ("heads.burn_in", 40, "burn_in 40 leaves none of the 40 draws"),
        ("heads.n_beta", [30, 30], "n_beta lists a value twice"),
        ("heads.step_size", [0.1], "every setting would be unstable"),
        ("full.components", ["0:0"], "`components` is for the kind `heads`"),
        ("dependence.dataset_sizes", [12], "12 is no multiple of sampling.heads.batch_size, 8"),
        ("dependence.dataset_sizes", [248], "248 contexts are more than 30 draws of 8 see"),
        ("rule", {"min_shrinkage": 1.5}, "rule.min_shrinkage: input should be less than 1"),
        ("rule", {"max_rat": 1.5}, "unknown key 'max_rat'; did you mean 'max_rhat'?"),
        ("heads.localisation", [1], "unknown key 'localisation'; did you mean 'localization'?"),
    ],
)
def test_what_is_wrong_is_named(config, path, value, message):
    with pytest.raises(ConfigError) as error:
        read(changed(config, path, value))
    assert message in str(error.value)


def test_the_base_setting_that_is_varied_must_be_there(config):
    config["experiments"]["language"]["sampling"]["full"] = None
    config["figures"] = {name: entry for name, entry in config["figures"].items() if "stage" not in name}
    with pytest.raises(ConfigError, match=r"'full' is varied around sampling\.full, which is missing"):
        read(config)


def test_its_datasets_and_figures_are_its_own_targets(config):
    study = read(config)
    experiment = study.experiments["language"]
    assert datasets(experiment, "calibrate") == ["calibration", "dependence", "recommendation"]
    assert not set(datasets(experiment, "calibrate")) & set(datasets(experiment))
    own = asked_by("calibrate", study.figures)
    assert set(own) == {name for name, figure in FIGURES.items() if figure.target == "calibrate"}
    assert not set(own) & set(asked_by("all", study.figures))
    assert distributions(experiment, "calibration") == ["mixture", "code"]
    assert distributions(experiment, "dependence") == ["mixture"]
    config["experiments"]["language"]["calibration"]["dependence"] = None
    with pytest.raises(ConfigError, match=r"needs dependence\.nc, which 'language' does not declare"):
        read(config)


def test_a_job_is_told_what_its_numbers_depend_on_and_no_more(chunked):
    chunked["experiments"]["language"]["sampling"]["full"]["divergence_factor"] = 1000
    study = read(chunked)
    swept = settings(study, "calibration")
    assert set(swept) == {"heads", "full", "probes"}
    assert [swept[kind]["divergence_factor"] for kind in ("heads", "full")] == [5, 1000]
    varied = settings(study, "dependence")
    assert [varied["settings"][kind]["divergence_factor"] for kind in ("heads", "full")] == [5, 1000]
    full = study.experiments["language"].sampling.full
    assert varied["settings"]["full"]["localization"] == full.localization
    assert not {"checkpoints", "seeds", "distributions"} & set(varied)
    assert measured(study.experiments["language"])["calibration"].steps == [1342, 3000]
    other = read(changed(chunked, "dependence.checkpoints", [0]))
    assert measured(other.experiments["language"])["dependence"].steps == [0]
    assert measured(other.experiments["language"])["calibration"].steps == [1342, 3000]
    known = settings(study, "recommendation")["known"]
    assert known["heads"]["likelihood"] == {"step_size": 1e-4, "n_beta": 3000, "localization": 1000}
    assert "likelihood" not in known["full"]


def test_the_cost_grows_with_the_grid(chunked):
    def seconds(config, rule, start):
        return forecast.of(
            read(config), rule, SimpleNamespace(experiment="language", start=start)
        ).cpu_seconds

    few = seconds(changed(chunked, "heads.n_beta", [30]), "calibration", 1250)
    assert 60 < few < seconds(chunked, "calibration", 1250) < 1500
    assert seconds(chunked, "calibration", 0) == cost.START
    assert seconds(chunked, "dependence", 1250) > cost.START


def test_the_dependence_refuses_a_base_setting_that_it_does_not_run(config):
    config["experiments"]["language"]["sampling"]["heads"]["thinning"] = 2
    with pytest.raises(ConfigError, match=r"sampling[.]heads has sampler sgld and thinning 2"):
        read(config)


def test_without_a_calibration_its_figures_go_too(config):
    config["experiments"]["language"]["calibration"] = None
    config["validation"] = None
    kept = read(config).figures
    assert "regime_map" not in kept and "validation_quadratic" not in kept
    assert "rllc_by_distribution" in kept
