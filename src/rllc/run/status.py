"""How far a study is: per experiment and stage what is done, running, queued, failed and missing.

A job is done where Snakemake would not run it again. Slurm says which of the others run or wait; of the
rest, one whose log does not end as a finished job's does has failed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

STATES = ("done", "running", "queued", "failed", "missing")
QUEUED = ("pending", "configuring", "requeued")
FINISHED = "done in "  # how the log of a script that came to its end ends
SHARED = "shared"  # jobs of no experiment
LISTED = 20


class PlannedJob(NamedTuple):
    """One job of the study.

    comment  what Slurm is told of it
    needed   whether Snakemake would run it
    started  whether it was marked as started and not as ended, here and not on Slurm
    """

    rule: str
    experiment: str
    wildcards: str
    comment: str
    needed: bool
    started: bool
    log: Path | None


class Standing(NamedTuple):
    """A job's state, Slurm's number where there is one, and the log to read."""

    job: PlannedJob
    state: str
    number: str
    log: str


def comment(rule: str, wildcards: Sequence[str]) -> str:
    """What the Slurm plugin writes as a job's comment."""
    values = "_".join(wildcards).replace("/", "_")
    return f"rule_{rule}_wildcards_{values}" if values else f"rule_{rule}"


def stand(
    job: PlannedJob, on_slurm: dict[str, tuple[str, str]], slurm_logs: Path, *, locked: bool
) -> Standing:
    """Where a job stands.

    on_slurm    comment -> (number, state) of the jobs that Slurm has
    slurm_logs  the plugin's folder of logs
    locked      whether a run is at work in this folder
    """
    if not job.needed:
        return Standing(job, "done", "", "")
    number, state = on_slurm.get(job.comment, ("", ""))
    log = str(job.log) if job.log and job.log.is_file() else ""
    if number:
        return Standing(job, "queued" if state in QUEUED else "running", number, log)
    if job.started and locked:
        return Standing(job, "running", "", log)
    newest = _newest(slurm_logs, job)
    if log and not _finished(Path(log)):
        return Standing(job, "failed", newest.stem if newest else "", log)
    if newest and not log and job.rule not in ("read_corpus", "make_tokenizer"):
        return Standing(job, "failed", newest.stem, str(newest))
    return Standing(job, "missing", "", "")


def report(standings: Iterable[Standing]) -> str:
    """A table of counts per experiment and stage, then running, queued and failed jobs with their logs."""
    standings = list(standings)
    counts: dict[tuple[str, str], Counter[str]] = {}
    for standing in standings:
        row = counts.setdefault((standing.job.experiment, standing.job.rule), Counter())
        row[standing.state] += 1
    counts[("all", "")] = sum(counts.values(), Counter())
    lines = [f"{'experiment':<24}{'stage':<22}" + "".join(f"{state:>9}" for state in STATES)]
    for (experiment, rule), row in counts.items():
        lines.append(f"{experiment:<24}{rule:<22}" + "".join(f"{row[state] or '.':>9}" for state in STATES))
    for state in ("running", "queued", "failed"):
        chosen = [standing for standing in standings if standing.state == state]
        lines += ["", f"{state}:"] if chosen else []
        lines += [_line(standing) for standing in chosen[:LISTED]]
        lines += [f"  ... and {len(chosen) - LISTED} more"] if len(chosen) > LISTED else []
    return "\n".join(lines)


def _line(standing: Standing) -> str:
    number = f"job {standing.number}" if standing.number else "here"
    return f"  {number:<12}{standing.job.rule} {standing.job.wildcards}  {standing.log}".rstrip()


def _newest(slurm_logs: Path, job: PlannedJob) -> Path | None:
    rest = job.comment.removeprefix(f"rule_{job.rule}").removeprefix("_wildcards_")
    logs = [path for path in (slurm_logs / f"rule_{job.rule}" / rest).glob("*.log") if path.stem.isdigit()]
    return max(logs, key=lambda path: int(path.stem), default=None)


def _finished(log: Path) -> bool:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 400))
        return FINISHED in file.read().decode(errors="replace")
