"""Which claims the config asks for, on which experiments, and by which datasets."""

import json
from pathlib import Path

from rllc.claims import Experiment
from rllc.study import defaults
from rllc.study.claims import WORKS, files, judge, judged
from rllc.study.reading import read
from rllc.study.study import Study
from rllc.study.tasks import TASKS


def test_every_work_is_about_tasks_that_there_are():
    assert {task for work in WORKS.values() for task in work.tasks} <= {*TASKS}


def test_claims_are_about_experiments_of_the_tasks_of_their_works(config):
    study = read(config)
    assert set(judged(study)) == {"language", "language_1layer", "sort_1head", "sort_2head_baseline"}
    assert set(judged(read(config | {"claims": ["sorting"]}))) == {"sort_1head", "sort_2head_baseline"}
    assert judged(read(config | {"claims": []})) == {}


def test_own_file_of_claims_may_read_every_experiment(config):
    study = read(config | {"claims": ["my_claims.py"]})
    assert files(study) == ["my_claims.py"]
    assert set(judged(study)) == {"language", "language_1layer", "sort_1head", "sort_2head_baseline"}


def test_claims_read_what_all_makes_and_of_the_calibration_what_their_work_names():
    study = read(defaults.load(["config/regression.yaml"]))
    read_by_claims = judged(study)["regression"]
    assert "dependence" in read_by_claims and "calibration" not in read_by_claims
    assert not {"traces", "training_loss"} & {*read_by_claims}


def told(config):
    """What claims may ask of each experiment."""
    study = config if isinstance(config, Study) else read(config)
    return judge(study, {name: {} for name in judged(study)}).experiments


def test_works_and_own_files_are_told_apart(config):
    study = read(config | {"claims": ["sorting", "mine/my_claims.py", "heads"]})
    files_of = {"language": {"rllc": "results/language/rllc.nc"}}
    asked = judge(study, files_of)
    assert asked.works == ["sorting", "heads"] and asked.own == [Path("mine/my_claims.py")]
    assert asked.datasets == {"language": {"rllc": Path("results/language/rllc.nc")}}
    assert list(asked.experiments) == ["language"]


def test_experiments_are_told_to_claims_as_plain_data(config):
    experiments = told(config)
    assert json.loads(json.dumps(experiments)) == experiments
    language = Experiment(**experiments["language"])
    assert (language.text, language.code, language.layers) == ("mixture", "code", 2)
    assert language.steps == 6500 and language.settings["refinement"]["distribution"] == "code"


def test_published_scale_measures_the_text_that_claims_call_that_of_training():
    study = read(defaults.load(["config/paper.yaml"]))
    assert told(study)["language"]["text"] == "pile"


def test_text_of_claims_is_the_one_trained_on_wherever_it_stands_among_those_measured(config):
    config["experiments"]["language"]["distributions"] = ["english", "code", "mixture", "one_layer"]
    assert told(config)["language"]["text"] == "mixture"


def test_code_of_claims_is_that_of_other_sections_where_there_is_no_refinement(config):
    config["experiments"]["language"]["refinement"] = None
    assert told(config)["language"]["code"] == "code"


def test_compared_experiments_are_told_the_shortest_training_of_their_task(config):
    config["experiments"]["sort_1head"] |= {"training": {"steps": 3000}}
    experiments = told(config)
    assert experiments["sort_1head"]["shortest"] == experiments["sort_2head_baseline"]["shortest"] == 3000
    assert experiments["sort_2head_baseline"]["steps"] == 4000
