"""Which claims the config asks for: works whose claims rllc brings, and files of the user's own.

No arrays are imported here: the workflow reads this when it is parsed.
"""

from collections.abc import Iterator
from typing import NamedTuple

from rllc.study.datasets import TRACES, TRAINING_LOSS, datasets, measured
from rllc.study.section import nearest
from rllc.study.study import Experiment, Study


class Work(NamedTuple):
    """A work whose claims rllc brings, as ``rllc.claims.<name>``.

    tasks  of the experiments that they are about
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
    """Return the experiments that claims are about -> the datasets that these may read.

    A file of the user's own may read every experiment; its claims are about those that have what they read.
    """
    tasks = {task for entry in study.claims for task in _work(entry).tasks}
    found = {}
    for name, experiment in study.experiments.items():
        if experiment.task in tasks or files(study):
            read = _readable(experiment, {each for entry in study.claims for each in _work(entry).also})
            found |= {name: read} if read else {}
    return found


def claim_problems(study: Study) -> Iterator[str]:
    """Yield what is wrong with the names of works.

    Whether files are there is asked by ``rllc.run.presence``.
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
    """Return the datasets of ``all`` that hold curves, and those that a work reads beside them."""
    named = [name for name in datasets(experiment) if name not in (TRACES, TRAINING_LOSS)]
    return [*named, *(name for name in measured(experiment) if name in also and name not in named)]
