"""Which distributions a dataset has, and which statistics an experiment."""

import pytest

from rllc.study import defaults
from rllc.study.datasets import distributions, measured, statistics
from rllc.study.reading import read


@pytest.fixture
def config():
    return defaults.load()


def test_distributions_of_a_measure_are_in_the_order_of_the_experiment(config):
    language = config["experiments"]["language"]
    language["hessian"]["distributions"] = ["code", "english"]
    experiment = read(config).experiments["language"]
    assert distributions(experiment, "hessian") == ["english", "code"]
    assert measured(experiment)["hessian"].distributions == ["english", "code"]


@pytest.mark.parametrize(("named", "has"), [(["mixture"], True), (["mixture", "code"], False)])
def test_a_statistic_without_a_distribution_is_of_datasets_that_have_one(config, named, has):
    config["experiments"]["language"]["sampling"]["full"]["distributions"] = named
    study = read(config)
    assert ("llc_peak" in statistics(study, study.experiments["language"])) == has
