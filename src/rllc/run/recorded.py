"""How long finished jobs took, against the cost model: Snakemake's benchmark files in the results folder.

A benchmark file holds seconds, but neither settings nor device. So a job counts only if Snakemake's record
says that it, and all jobs before it, had the present settings files. The files name the device too, except
for ``compute.device: auto``. Code may have changed since. Nothing is written.
"""

import csv
import math
import statistics
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from rllc.run import forecast, orphans
from rllc.run.forecast import Pace, Paces
from rllc.study import limits
from rllc.study.steps import chunks
from rllc.study.study import Study

MOST = 30  # jobs of a rule and experiment that are read
# Seconds. Where both forecast and record are shorter, most of the time is the start of the job, so the job
# does not count.
SHORT = 10.0
# Seconds. A file that is older than the start of a job by more than this was there before the job.
EARLIER = 10.0


def paces(study: Study, dag: Any, persistence: Any) -> Paces:
    """Return (rule, experiment) -> recorded over forecast time of its finished jobs.

    The experiment "" stands for all jobs of the rule.
    """
    same = _same_settings(dag, persistence)
    groups: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for job in dag.jobs:
        if job.benchmark:
            groups[job.rule.name, getattr(job.wildcards, "experiment", "")].append(job)
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (rule, experiment), jobs in groups.items():
        found = list(_ratios(study, islice(filter(same, _shuffled(jobs)), MOST)))
        for name in {experiment, ""} if found else ():
            ratios[rule, name] += found
    return {key: Pace(statistics.median(each), max(each), len(each)) for key, each in ratios.items()}


def seconds(file: Path) -> float | None:
    """Return the seconds of a benchmark file; None if it is missing, cut short, or of something else."""
    try:
        text = file.read_text(encoding="utf-8")
        (row,) = csv.DictReader(text.splitlines(), delimiter="\t")
        taken = float(row["s"])
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        return None
    complete = text.endswith("\n") and None not in row.values() and None not in row
    return taken if complete and 0 < taken < math.inf else None


def _shuffled(jobs: Iterable[Any]) -> list[Any]:
    """Return jobs in an order that mixes seeds, datasets and chunks, and is the same every time."""
    return sorted(jobs, key=lambda job: zlib.crc32(str(job.benchmark).encode()))


def _ratios(study: Study, jobs: Iterable[Any]) -> Iterator[float]:
    """Yield recorded over forecast work of the jobs that count.

    They have a benchmark, computed everything themselves, and took long enough (``SHORT``).
    """
    for job in jobs:
        rule, taken = job.rule.name, seconds(Path(job.benchmark))
        if taken is None or _resumed(study, job, taken):
            continue
        by_model = limits.seconds(forecast.of(study, rule, job.wildcards), study, rule)
        if max(taken, by_model) >= SHORT:
            yield forecast.ratio(study, rule, job.wildcards, taken)


def _resumed(study: Study, job: Any, taken: float) -> bool:
    """Return whether a job found checkpoints, or results at checkpoints, that an earlier one had made.

    True where files cannot be read.
    """
    try:
        began, output = Path(job.benchmark).stat().st_mtime - taken, Path(job.output[0])
        if job.rule.name == "train":
            first = chunks(study.experiments[job.wildcards.experiment])[int(job.wildcards.start)][0]
            kept = [output.parent / f"step{first:07d}.safetensors"]
        else:
            kept = list(output.with_suffix(".cells").glob("*.nc"))
        return any(file.stat().st_mtime < began - EARLIER for file in kept)
    except OSError:
        return True


def _same_settings(dag: Any, persistence: Any) -> Callable[[Any], bool]:
    """Return a function: whether the results of a job, and of all before it, have the present settings."""

    @cache
    def same(job: Any) -> bool:
        output = Path(job.output[0])
        if not output.exists():
            return False
        record = persistence.metadata(job.output[0])
        if not orphans.is_of(record, output):
            return False
        # Snakemake records each parameter as its repr.
        if repr(str(job.params.settings)) not in (record.params or ()):
            return False
        return all(same(before) for before in dag.job_dependencies(job))

    return same
