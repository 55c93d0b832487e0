"""Progress of a study: per experiment and stage, how many jobs are done, running, queued, failed and missing.

A job is done if Snakemake would not run it again. Slurm says which of the others run or wait. A job of the
rest has failed if its log does not end like that of a finished job.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

STATES = ("done", "running", "queued", "failed", "missing")
QUEUED = ("pending", "configuring", "requeued")
FINISHED = "done in "  # last line of the log of a finished script
SHARED = "shared"  # jobs of no experiment
LISTED = 20


class PlannedJob(NamedTuple):
    """One job of the study.

    comment  the job's comment in Slurm
    needed   whether Snakemake would run it
    started  whether it was marked as started but not as ended, on this machine rather than on Slurm
    """

    rule: str
    experiment: str
    wildcards: str
    comment: str
    needed: bool
    started: bool
    log: Path | None


class Standing(NamedTuple):
    """A job's state, its Slurm number if it has one, and the log to read."""

    job: PlannedJob
    state: str
    number: str
    log: str


def comment(rule: str, wildcards: Sequence[str]) -> str:
    """Return the comment that the Slurm plugin gives a job."""
    values = "_".join(wildcards).replace("/", "_")
    return f"rule_{rule}_wildcards_{values}" if values else f"rule_{rule}"


def stand(
    job: PlannedJob, on_slurm: dict[str, tuple[str, str]], slurm_logs: Path, *, locked: bool
) -> Standing:
    """Return the state of a job.

    on_slurm    comment -> (number, state) of the jobs that Slurm has
    slurm_logs  the plugin's folder of logs
    locked      whether a run is active in this folder
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
    """Return counts per experiment and stage as a table, then running, queued and failed jobs with logs."""
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
