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
    used = {*used_texts(study)}
    for name in list(used):
        used |= set(getattr(study.distributions[name], "weights", {}))
    looks: list[tuple[str, Callable[[Any], object], Any]] = [
        (f"distributions.{name}.path", texts.files, entry)
        for name, entry in sorted(study.distributions.items())
        if name in used and isinstance(entry, Files)
    ]
    for name, experiment in study.experiments.items():
        if experiment.checkpoints.source == "import":
            folders = [Path(experiment.checkpoints.path.format(seed=seed)) for seed in experiment.seeds]
            place = f"experiments.{name}.checkpoints.path"
            looks += [(place, imported_files, folder) for folder in folders]
    problems = []
    for place, look, at in looks:
        try:
            look(at)
        except ValueError as error:
            problems.append(f"{place}: {error}")
    return problems
