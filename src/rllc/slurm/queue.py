"""Ask Slurm about jobs: their states, jobs of an earlier run, and whether new jobs can be submitted."""

import getpass
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

LONGEST_WAIT = 180  # largest number of seconds between two status queries of the Slurm plugin
UNKNOWN = "unknown"
UNSAFE = re.compile("""['"$`\\\\\n]""")
# Logs and locks: one exists where jobs were submitted from a folder.
TRACES = (".snakemake/slurm_logs", ".snakemake/rllc/output_locks")
ENDED = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
    "REVOKED", "TIMEOUT",
}  # fmt: skip


class SlurmError(ValueError):
    """Slurm cannot be used in its present state. The message says what to do."""


class Unanswered(SlurmError):
    """A command of Slurm failed, so the answer is unknown."""


class Job(NamedTuple):
    """A job of this user as Slurm, or this program, last knew it.

    state    Slurm's word, in upper case; "LOST": Slurm no longer knows the job
    comment  `rule_<rule>_wildcards_<values joined by _>`, as the plugin writes it; "": unknown
    """

    number: str
    state: str
    comment: str
    reason: str = ""

    @property
    def rule(self) -> str:
        return self.comment.removeprefix("rule_").partition("_wildcards_")[0]


class StatusSource(NamedTuple):
    """Commands that give the states of jobs. If one does not know a job, the next one is asked."""

    commands: tuple[str, ...]
    sentence: str


def answer(*command: str) -> str:
    """Return the standard output of a Slurm command. Raises Unanswered if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unanswered(f"{command[0]}: {error}") from error
    if done.returncode:
        raise Unanswered(f"{command[0]}: {' '.join(done.stderr.split()) or f'exit code {done.returncode}'}")
    return done.stdout


def ask(*command: str) -> str | None:
    """Return the standard output of a Slurm command; None if it is missing or fails."""
    try:
        return answer(*command)
    except Unanswered:
        return None


def states(command: str, run: str, since: datetime) -> dict[str, Job]:
    """Return number -> job, for the jobs of a run that `squeue` or `sacct` knows. Raises Unanswered.

    run    the name that all its jobs carry
    since  a time before the first of them
    """
    if command == "squeue":
        rows = answer(
            "squeue", "--noheader", "--states=all", f"--name={run}", "--format=%i|%T|%r|%k"
        ).splitlines()
    else:  # only some clusters keep comments in the database
        rows = answer(
            "sacct", "--allocations", "--noheader", "--parsable2", "--clusters=all", f"--name={run}",
            f"--starttime={since:%Y-%m-%dT%H:%M}", "--endtime=now", "--format=JobIDRaw,State,Reason",
        ).splitlines()  # fmt: skip
    found = [row.split("|", 3) for row in rows if row.count("|") >= 2]
    # "CANCELLED by 1000" of sacct is CANCELLED.
    return {
        number: Job(number, state.split()[0], comment[0] if comment else "", reason)
        for number, state, reason, *comment in found
    }


def status_source(command: str | None, first_check: int) -> StatusSource:
    """Return the commands that will show when jobs end.

    command      the setting `rllc-slurm-status-command`
    first_check  the setting `rllc-slurm-init-seconds-before-status-checks`

    Raises SlurmError if no command would show it: the run would wait for ever.
    """
    try:
        settings = answer("scontrol", "show", "config")
    except Unanswered as error:
        raise SlurmError(
            f"Slurm does not answer ({error}): is this a login node, is the cluster up?"
        ) from error
    age = _seconds(settings, "MinJobAge")
    # An ended job must still be there at the next check, with one interval to spare. A doubtful one is asked
    # about for three intervals.
    needed = max(3 * first_check, LONGEST_WAIT + first_check)
    database = "slurmdbd" in _value(settings, "AccountingStorageType")
    accounting = database and ask("sacct", "-X", "--noheader", "--starttime", "now") is not None
    why = "no accounting database answers here (`sacct` fails)"
    commands = ("squeue", "sacct") if accounting else ("squeue",)
    if command == "squeue":
        if age >= needed:
            return StatusSource(
                commands, f"Slurm: state of jobs by squeue, which shows ended ones for {age} s."
            )
        if accounting and age < 3 * first_check:
            return StatusSource(
                commands[::-1],
                f"Slurm: state of jobs by sacct, since squeue shows ended ones for {age} s only.",
            )
        if accounting:
            raise SlurmError(
                f"squeue forgets ended jobs after {age} s here, sooner than it may be asked again: "
                "set rllc-slurm-status-command: sacct in the profile"
            )
        at_most = min(age // 3, age - LONGEST_WAIT)
        lower = (
            f"Lower rllc-slurm-init-seconds-before-status-checks in the profile to {at_most} at most, or ask"
        )
        raise SlurmError(
            f"the end of jobs could be missed, and the run would wait for ever: {why}, and squeue forgets "
            f"ended jobs after {age} s (MinJobAge), less than the {needed} s needed. "
            f"{lower if at_most > 0 else 'Ask'} the administrators for MinJobAge=300, Slurm's default"
        )
    if accounting:
        return StatusSource(commands[::-1], "Slurm: state of jobs by sacct.")
    raise SlurmError(
        f"the end of jobs could not be seen, and the run would wait for ever: {why}. "
        "Set rllc-slurm-status-command: squeue in the profile (profiles/slurm has it)"
    )


def refuse_names(names: Iterable[object]) -> None:
    """Raise SlurmError if one of these paths holds characters that a shell interprets.

    Snakemake writes the paths of the folder and of the overlays into the command of a job, quoted as Python
    quotes text. Spaces and semicolons are safe there. Quotes, ``$`` and backticks are not.
    """
    for name in names:
        found = sorted(set(UNSAFE.findall(str(name))))
        if found:
            raise SlurmError(
                f"{str(name)!r} cannot be passed to a job of the cluster: it holds {' '.join(found)!r}. "
                "Rename it without quotes, dollars, backticks, backslashes and line breaks"
            )


def jobs_here(folder: Path) -> list[Job]:
    """Return the jobs of this user that Snakemake submitted from this folder and that have not ended.

    Raises Unanswered if Slurm does not answer, unless no job was ever submitted from here.
    """
    if shutil.which("squeue") is None:
        return []
    try:
        listed = answer("squeue", "--noheader", f"--user={_user()}", "--states=all", "--format=%i|%T|%Z|%k")
    except Unanswered:
        if not any((folder / trace).exists() for trace in TRACES):
            return []
        raise
    rows = [line.split("|", 3) for line in listed.splitlines() if line.count("|") >= 3]
    here = folder.resolve()
    return [
        Job(number, state, comment)
        for number, state, workdir, comment in rows
        if state not in ENDED and comment.startswith("rule_") and Path(workdir).resolve() == here
    ]


def refuse_orphans(folder: Path) -> None:
    """Raise SlurmError if jobs of an earlier run may still exist: two jobs would write the same files."""
    try:
        jobs = jobs_here(folder)
    except Unanswered as error:
        raise SlurmError(
            "Slurm does not say whether jobs of an earlier run are still queued or running in this folder "
            f"({error}). Nothing was started, so that no file has two writers: start again when it answers"
        ) from error
    if not jobs:
        return
    numbers = " ".join(job.number for job in jobs)
    rules = ", ".join(sorted({job.rule for job in jobs}))
    raise SlurmError(
        f"{len(jobs)} jobs of an earlier run are still queued or running in this folder ({rules}). "
        "Nothing was started, so that no file has two writers. Either let them end, and start again: what "
        f"they make is kept. Or stop them, and start again: scancel {numbers}"
    )


def cancel(folder: Path) -> list[str]:
    """Cancel the jobs of this folder that Slurm still has. Return one sentence that names them; [] if none.

    If Ctrl-C comes while Snakemake queries Slurm, Snakemake cancels no job. It never cancels a job that is
    just being submitted. Raises SlurmError if some jobs may be left.
    """
    try:
        numbers = [job.number for job in jobs_here(folder) if job.state != "COMPLETING"]
    except Unanswered as error:
        raise SlurmError(
            f"jobs of this run may still be queued or running ({error}): see `squeue --me`, and scancel them"
        ) from error
    if not numbers:
        return []
    listed = " ".join(numbers)
    if ask("scancel", *numbers) is None:
        raise SlurmError(f"{len(numbers)} jobs of this run are still queued or running: scancel {listed}")
    return [f"{len(numbers)} jobs that were still queued or running are cancelled: {listed}"]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _value(settings: str, name: str) -> str:
    found = re.search(rf"^{name}\s*=\s*(.*)$", settings, re.MULTILINE)
    return found[1].strip() if found else UNKNOWN


def _seconds(settings: str, name: str) -> int:
    found = re.match(r"\d+", _value(settings, name))
    return int(found[0]) if found else 0
