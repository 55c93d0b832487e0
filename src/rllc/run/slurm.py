"""Before jobs go to Slurm: can their state be had, and is an earlier run's work still under way?"""

import getpass
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

LONGEST_WAIT = 180  # seconds between two status queries of the Slurm plugin, at most
UNKNOWN = "unknown"
UNSAFE = re.compile("""['"$`\\\\\n]""")


class SlurmError(ValueError):
    """Slurm cannot be used as it is, or should not be yet; the message says what to do."""


class Job(NamedTuple):
    """A job of ours that Slurm still has."""

    number: str
    state: str
    comment: str  # `rule_<rule>_wildcards_<values joined by _>`, as the plugin writes it

    @property
    def rule(self) -> str:
        return self.comment.removeprefix("rule_").partition("_wildcards_")[0]


def ask(*command: str) -> str | None:
    """Standard output of a Slurm command; None where there is no such command or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def status_source(command: str | None, first_check: int) -> str:
    """How the plugin will learn of the end of jobs, in a sentence.

    command      the plugin's `slurm-status-command`
    first_check  its `slurm-init-seconds-before-status-checks`

    Raises SlurmError where it would never learn of it: the plugin then waits for ever, without a word.
    """
    settings = ask("scontrol", "show", "config")
    if settings is None:
        raise SlurmError(
            "Slurm does not answer (`scontrol show config` fails): is this a login node, is the cluster up?"
        )
    age = _seconds(settings, "MinJobAge")
    needed = max(3 * first_check, LONGEST_WAIT + first_check)
    database = "slurmdbd" in _value(settings, "AccountingStorageType")
    accounting = database and ask("sacct", "-X", "--noheader", "--starttime", "now") is not None
    why = "no accounting database answers here (`sacct` fails)"
    if command == "squeue":
        if age >= needed:
            return f"Slurm: state of jobs by squeue, which shows ended ones for {age} s."
        if accounting and age < 3 * first_check:
            return f"Slurm: state of jobs by sacct, since squeue shows ended ones for {age} s only."
        if accounting:
            raise SlurmError(
                f"squeue forgets ended jobs after {age} s here, sooner than it may be asked again: "
                "set slurm-status-command: sacct in the profile"
            )
        soon = min(age // 3, age - LONGEST_WAIT)
        lower = f"Lower slurm-init-seconds-before-status-checks in the profile to {soon} at most, or ask"
        raise SlurmError(
            f"the end of jobs could be missed, and the run would wait for ever: {why}, and squeue forgets "
            f"ended jobs after {age} s (MinJobAge), less than the {needed} s needed. "
            f"{lower if soon > 0 else 'Ask'} the administrators for MinJobAge=300, Slurm's default"
        )
    if accounting:
        return "Slurm: state of jobs by sacct."
    raise SlurmError(
        f"the end of jobs could not be seen, and the run would wait for ever: {why}. "
        "Set slurm-status-command: squeue in the profile (profiles/slurm has it)"
    )


def refuse_names(names: Iterable[object]) -> None:
    """Raise SlurmError where a shell would read more than a name in one of these paths.

    Snakemake gives a job's own call the paths of the folder and of the overlays, quoted as Python quotes
    text, not as a shell does. Spaces and semicolons are safe so; quotes, ``$`` and backticks are not.
    """
    for name in names:
        found = sorted(set(UNSAFE.findall(str(name))))
        if found:
            raise SlurmError(
                f"{str(name)!r} cannot be named to a job of the cluster: it holds {' '.join(found)!r}. "
                "Rename it without quotes, dollars, backticks, backslashes and line breaks"
            )


def jobs_here(folder: Path) -> list[Job]:
    """Jobs of this user that Snakemake submitted from this folder and that are queued or running."""
    if shutil.which("squeue") is None:
        return []
    listed = ask(
        "squeue", "--noheader", f"--user={_user()}", "--format=%i|%T|%Z|%k",
        "--states=pending,running,suspended,completing,configuring,requeued",
    )  # fmt: skip
    rows = [line.split("|", 3) for line in (listed or "").splitlines() if line.count("|") >= 3]
    here = folder.resolve()
    return [
        Job(number, state.lower(), comment)
        for number, state, workdir, comment in rows
        if comment.startswith("rule_") and Path(workdir).resolve() == here
    ]


def refuse_orphans(jobs: Sequence[Job]) -> None:
    """Raise SlurmError where jobs of an earlier run are still there: two would write the same files."""
    if not jobs:
        return
    numbers = " ".join(job.number for job in jobs)
    rules = ", ".join(sorted({job.rule for job in jobs}))
    raise SlurmError(
        f"{len(jobs)} jobs of an earlier run are still queued or running in this folder ({rules}). "
        "Nothing was started, so that no file has two writers. Either let them end, and start again: what "
        f"they make is kept. Or stop them, and start again: scancel {numbers}"
    )


def cancel(jobs: Sequence[Job]) -> list[str]:
    """Cancel those of a run's jobs that Snakemake left; what was done, in a sentence.

    A Ctrl-C that comes while Snakemake asks Slurm how its jobs are cancels none of them, and never one that
    is just being submitted.
    """
    numbers = [job.number for job in jobs if job.state != "completing"]
    if not numbers:
        return []
    listed = " ".join(numbers)
    if ask("scancel", *numbers) is None:
        return [f"{len(numbers)} jobs of this run are still queued or running: scancel {listed}"]
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
