"""The user's own files that a config names are there, before anything is planned.

Snakemake asks for the inputs of a job only where it considers running it, so a mistyped glob would
otherwise leave an old result standing as if it were the new one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rllc.study import texts
from rllc.study.datasets import used_texts
from rllc.study.distributions import Files
from rllc.study.imported import imported_files
from rllc.study.study import Study


def missing_files(study: Study) -> list[str]:
    """What is wrong with the globs of used distributions and the folders of imported checkpoints."""
    problems = []
    used = {*used_texts(study)}
    for name in list(used):
        used |= set(getattr(study.distributions[name], "weights", {}))
    for name in sorted(used):
        entry = study.distributions[name]
        if isinstance(entry, Files):
            problems += _said(f"distributions.{name}.path", texts.files, entry)
    for name, experiment in study.experiments.items():
        if experiment.checkpoints.source == "import":
            for seed in experiment.seeds:
                folder = Path(experiment.checkpoints.path.format(seed=seed))
                problems += _said(f"experiments.{name}.checkpoints.path", imported_files, folder)
    return problems


def _said(place: str, look: Callable[[Any], object], at: Any) -> list[str]:
    try:
        look(at)
    except ValueError as error:
        return [f"{place}: {error}"]
    return []
