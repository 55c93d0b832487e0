"""The claims that the config asks for: works whose claims rllc brings, and the user's own files.

The workflow imports this module when it is parsed, so nothing here imports arrays.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rllc.job_settings.datasets import Judge
from rllc.study.config_model import nearest
from rllc.study.datasets import TRACES, TRAINING_LOSS, datasets, measured
from rllc.study.sampling import BASE_SETTING
from rllc.study.steps import steps
from rllc.study.study import Experiment, Study, work
from rllc.study.table import ANALYSES

# Analyses that depend on types of heads. Claims on them are also judged with shuffled types
# (rllc.claims.repeat).
REPEATED = ("classification", "kcomposition", "refinement", "staggered")


class Work(NamedTuple):
    """A work whose claims rllc brings, as ``rllc.claims.<name>``.

    tasks  tasks of the experiments that the claims are about
    also   datasets that they read beside those of the target ``all``
    """

    tasks: tuple[str, ...]
    also: tuple[str, ...] = ()


WORKS = {
    "heads": Work(("language",)),
    "stages": Work(("language",)),
    "regression": Work(("regression",), ("dependence",)),
    "sorting": Work(("sorting", "cumulative_sum")),
}


def files(study: Study) -> list[str]:
    """Return the user's own files of claims."""
    return [entry for entry in study.claims if entry not in WORKS]


def judged(study: Study) -> dict[str, list[str]]:
    """Return experiment -> the datasets that claims on it may read.

    The user's own file may read every experiment. Its claims are about those that have the datasets they
    read.
    """
    tasks = {task for entry in study.claims for task in _work(entry).tasks}
    found = {}
    for name, experiment in study.experiments.items():
        if experiment.task in tasks or files(study):
            read = _readable(experiment, {each for entry in study.claims for each in _work(entry).also})
            found |= {name: read} if read else {}
    return found


def judge(study: Study, files_of: Mapping[str, Mapping[str, str]]) -> Judge:
    """Return the settings of the job that judges claims.

    files_of  experiment -> dataset -> its file
    """
    return Judge(
        works=[entry for entry in study.claims if entry in WORKS],
        own=[Path(file) for file in files(study)],
        experiments={name: _facts(study, study.experiments[name], name) for name in files_of},
        datasets={name: {each: Path(file) for each, file in of.items()} for name, of in files_of.items()},
    )


def claim_problems(study: Study) -> Iterator[str]:
    """Yield the problems of names of works.

    ``rllc.run.check_inputs`` checks that files exist.
    """
    for entry in study.claims:
        if entry in WORKS:
            continue
        known = f"expected one of {', '.join(WORKS)}, or a Python file of your own"
        if not entry.endswith(".py"):
            yield f"claims: no work is called '{entry}'{nearest(entry, WORKS)} {known}, as my_claims.py"


def _work(entry: str) -> Work:
    return WORKS.get(entry, Work(()))


def _readable(experiment: Experiment, also: set[str]) -> list[str]:
    """Return the datasets of ``all`` that hold curves, and those that a work also reads."""
    named = [name for name in datasets(experiment) if name not in (TRACES, TRAINING_LOSS)]
    return [*named, *(name for name in measured(experiment) if name in also and name not in named)]


def _facts(study: Study, experiment: Experiment, name: str) -> dict[str, Any]:
    """Return the keywords of ``rllc.claims.Experiment``."""
    settings = {
        spec.name: spec.settings(work(study, experiment, section, []))
        for spec in ANALYSES
        if (section := spec.section_of(experiment)) is not None and spec.name in REPEATED
    }
    milestones = experiment.milestones
    trained_on = experiment.training.distribution if experiment.training else ""
    compared = (experiment.refinement, "distribution"), (experiment.classification, "code_distribution")
    codes = [
        getattr(section, key)
        for section, key in (*compared, (experiment.staggered, "distribution"))
        if section
    ]
    alike = [each for each in study.experiments.values() if each.task == experiment.task]
    return {
        "name": name,
        "task": experiment.task,
        "label": experiment.label or name,
        "layers": experiment.model.n_layers,
        "text": trained_on if trained_on in experiment.distributions else experiment.distributions[0],
        "code": next((each for each in codes if each is not None), None),
        "setting": milestones.setting if milestones else BASE_SETTING,
        "steps": steps(experiment)[-1],
        "shortest": min(steps(each)[-1] for each in alike),
        "settings": settings,
    }
