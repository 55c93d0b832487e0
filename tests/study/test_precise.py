"""More contexts, probes or sequences at some checkpoints: keys, keywords of kernels, costs and problems."""

import pytest

from rllc.measures.ablation.spec import Ablation
from rllc.study import defaults, parameters
from rllc.study.config_model import ConfigError
from rllc.study.datasets import measured
from rllc.study.precise import keywords, units
from rllc.study.reading import read
from rllc.study.steps import steps
from rllc.study.study import work

MEASURES = {"ablation": "contexts", "attention_scores": "sequences", "fisher": "probes", "hessian": "probes"}


@pytest.fixture
def config():
    return defaults.load([])


def job(config, name, at=None):
    study = read(config)
    experiment = study.experiments["language"]
    return work(study, experiment, getattr(experiment, name), at or steps(experiment))


@pytest.mark.parametrize("name", MEASURES)
def test_the_last_checkpoint_is_measured_on_more(config, name):
    config["experiments"]["language"][name] |= {"precise": 2048}
    told = keywords(job(config, name))
    assert told["precise"] == 2048 and told["precise_at"] == [6500]
    config["experiments"]["language"][name] |= {"precise_at": [1342, 6500]}
    assert keywords(job(config, name))["precise_at"] == [1342, 6500]


@pytest.mark.parametrize("name", MEASURES)
def test_without_the_key_a_kernel_is_told_what_it_was_before(config, name):
    config["experiments"]["language"][name] |= {"precise": None}
    assert not {"precise", "precise_at"} & keywords(job(config, name)).keys()


def test_costs_count_the_units_of_each_checkpoint(config):
    config["experiments"]["language"]["hessian"] |= {"probes": 4, "precise": 64}
    assert units(job(config, "hessian", [0, 100, 6500]), 4) == [4, 4, 64]
    assert units(job(config, "hessian", [0, 100]), 4) == [4, 4]
    config["experiments"]["language"]["hessian"] |= {"probes": 100}
    assert units(job(config, "hessian", [0, 6500]), 100) == [100, 100]  # never fewer than elsewhere


@pytest.mark.parametrize("name", MEASURES)
def test_steps_without_a_checkpoint_are_refused(config, name):
    config["experiments"]["language"][name] |= {"precise_at": [1343, 6500]}
    with pytest.raises(ConfigError, match=rf"language\.{name}\.precise_at: no checkpoint at step 1343"):
        read(config)


def test_contexts_at_the_last_checkpoint_fill_minibatches():
    with pytest.raises(ValueError, match="precise 40 is no multiple of batch_size 16"):
        Ablation(contexts=32, batch_size=16, precise=40)


def test_errors_are_told_their_degrees_of_freedom_at_every_checkpoint(config):
    config["experiments"]["language"]["hessian"] |= {"probes": 4, "precise": 64}
    study = read(config)
    experiment = study.experiments["language"]
    spec = measured(experiment)["hessian"].spec
    told = parameters.gather(study, experiment, "hessian", spec, ["a.nc"], {})
    assert told.freedom["hessian_trace_se"] == 3
    assert (told.precise["hessian_trace_se"], told.precise_at) == (63, [6500])
