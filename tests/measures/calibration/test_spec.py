import copy
from types import SimpleNamespace

from refused import refused

from rllc.analysis.rule import THRESHOLDS
from rllc.run import forecast
from rllc.study import cost
from rllc.study.datasets import datasets, distributions, measured
from rllc.study.figures import FIGURES, asked_by
from rllc.study.reading import read
from rllc.study.recommendation import Rule
from rllc.study.study import work
from rllc.study.table import ANALYSES, MEASURES


def settings(study, name):
    """What the kernel or the analysis of a spec is told."""
    experiment = study.experiments["language"]
    spec = next(spec for spec in (*MEASURES, *ANALYSES) if spec.name == name)
    section = (spec.section_of if spec in ANALYSES else spec.declared)(experiment)
    return spec.settings(
        work(study, experiment, section.get(name) if isinstance(section, dict) else section, [])
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


def test_the_base_setting_that_is_varied_must_be_there(config):
    config["experiments"]["language"]["sampling"]["full"] = None
    config["figures"] = {name: entry for name, entry in config["figures"].items() if "stage" not in name}
    assert ("experiments.language.calibration.dependence", "contradiction") in refused(config)


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
    reading = [
        name for name, spec in FIGURES.items() if "dependence" in spec.needs and name in config["figures"]
    ]
    assert refused(config) == [(f"figures.{name}", "contradiction") for name in reading] != []


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
    assert measured(study.experiments["language"])["calibration"].steps == [1342, 6500]
    other = read(changed(chunked, "dependence.checkpoints", [0]))
    assert measured(other.experiments["language"])["dependence"].steps == [0]
    assert measured(other.experiments["language"])["calibration"].steps == [1342, 6500]
    chunked["experiments"]["language"]["seeds"] = [0, 1, 2]
    chosen = changed(changed(chunked, "seeds", [1, 2]), "dependence.seeds", [2])
    seeds = {name: each.seeds for name, each in measured(read(chosen).experiments["language"]).items()}
    assert [seeds[name] for name in ("rllc", "calibration", "dependence")] == [[0, 1, 2], [1, 2], [2]]
    assert settings(study, "recommendation")["rule"].items() >= THRESHOLDS.items()
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


def test_without_a_calibration_its_figures_go_too(config):
    config["experiments"]["language"]["calibration"] = None
    config["validation"] = None
    kept = read(config).figures
    assert "regime_map" not in kept and "validation_quadratic" not in kept
    assert "rllc_by_distribution" in kept
