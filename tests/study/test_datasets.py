"""Which datasets an experiment has, and which distributions a dataset."""

import pytest

from rllc.study import defaults
from rllc.study.datasets import (
    TRAINING_LOSS,
    datasets,
    distributions,
    measured,
    traced,
    words,
)
from rllc.study.reading import read
from rllc.study.table import MEASURES
from rllc.units import NATS


@pytest.fixture
def config():
    return defaults.load()


def test_distributions_of_a_measure_are_in_the_order_of_the_experiment(config):
    language = config["experiments"]["language"]
    language["hessian"]["distributions"] = ["code", "english"]
    experiment = read(config).experiments["language"]
    assert distributions(experiment, "hessian") == ["english", "code"]
    assert measured(experiment)["hessian"].distributions == ["english", "code"]


@pytest.mark.parametrize("kinds", [(), ("full",), ("full", "heads")])
def test_traces_are_a_dataset_where_a_kind_keeps_them(config, kinds):
    for kind in kinds:
        config["experiments"]["language"]["sampling"][kind]["keep_traces"] = True
    experiment = read(config).experiments["language"]
    assert traced(experiment) == [
        name for name, kind in (("rllc", "heads"), ("llc", "full")) if kind in kinds
    ]
    assert ("traces" in datasets(experiment)) == bool(kinds)
    assert "traces" not in datasets(experiment, "calibrate")


def test_training_loss_is_a_dataset_of_trainings_that_are_measured(config, tmp_path):
    (tmp_path / "step_0.pt").touch()
    theirs = {"source": "import", "path": str(tmp_path), "chunks": [0]}
    config["experiments"]["theirs"] = {
        "like": "language", "training": None, "checkpoints": theirs, "tokens": None, "path_patching": None,
        "classification": None, "hessian_rank": None,
    }  # fmt: skip
    study = read(config)
    having = {name for name, each in study.experiments.items() if TRAINING_LOSS in datasets(each)}
    measuring = {name for name, each in study.experiments.items() if set(datasets(each)) - {TRAINING_LOSS}}
    assert "language" in having and "theirs" in measuring
    assert having == measuring - {"theirs"}
    assert not any(TRAINING_LOSS in datasets(each, "calibrate") for each in study.experiments.values())


def test_a_dataset_without_distributions_has_those_of_its_experiment(config):
    experiment = read(config).experiments["language"]
    assert measured(experiment)["attention_scores"].distributions == []
    assert (
        distributions(experiment, "attention_scores")
        == distributions(experiment, "none")
        == experiment.distributions
    )


def test_losses_have_the_unit_of_the_task(config):
    """Of regression a squared error; what is no loss keeps its unit."""
    experiment = read(config).experiments["language"]
    (spec,) = (each for each in MEASURES if each.name == "metrics")
    assert words(experiment, spec) == spec.all_variables
    squares = words(experiment.model_copy(update={"task": "regression"}), spec)
    assert {name: variable.unit for name, variable in squares.items() if spec.all_variables[name].unit == NATS} == {
        "loss": "squared error", "loss_by_position": "squared error", "icl_score": "squared error",
        "icl_score_se": "squared error", "loss_se": "squared error", "loss_by_position_se": "squared error",
        "loss_by_block": "squared error", "icl_score_by_block": "squared error",
    }  # fmt: skip
    assert squares["weight_norm"] == spec.all_variables["weight_norm"]
