"""Why a job of the cluster failed, what to raise, and whether the same would succeed a little later."""

import re
from pathlib import Path
from typing import Any

END = 2**16  # bytes of a log that are searched
# Of slurmstepd, of the kernel, of Python and torch, of libraries in Rust and C++; memory of a GPU is not what
# `mem_mb` asks for.
MEMORY = re.compile(
    r"oom.?kill|(?<!cuda )out of memory|(?<!OutOf)MemoryError|can(not|'t) allocate memory"
    r"|exceeded \w*\s*memory limit|memory allocation (of \d+ bytes |still )?failed|std::bad_alloc",
    re.IGNORECASE,
)
ASKED = {"memory": ("mem_mb", "MB"), "time": ("runtime", "minutes")}
SILENT = "nothing is in its log"  # what a job's command says (command.py) where the disk is full
FINISHED = "(100%) done"  # the last of what Snakemake says in the log of a job that made its files


def ended(log: Path) -> str:
    """The end of a job's log; empty where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - END))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def cause(state: str, log: str) -> str:
    """``memory``, ``time``, or the state in which Slurm says that the job ended."""
    if state == "OUT_OF_MEMORY" or (state != "TIMEOUT" and MEMORY.search(log)):
        return "memory"
    return "time" if state in ("TIMEOUT", "DEADLINE") else state


def sentence(number: str, rule: str, cause: str, reason: str, resources: Any, log: str) -> str:
    """What happened to a job, and what to do. ``resources``: what it had asked for.

    Of a job whose own log is empty, what Slurm's has to say: Snakemake shows none after an empty one.
    """
    if cause in ASKED:
        resource, unit = ASKED[cause]
        asked = resources.get(resource)
        more = 2 * asked if isinstance(asked, int) else "..."
        return (
            f"Slurm job {number} ran out of {cause}: it had asked for {asked} {unit}. Where submitting it "
            "again, with more, is not enough, raise it in the profile: "
            f"set-resources: {{{rule}: {{{resource}: {more}}}}}. "
        )
    why = f" ({reason})" if reason not in ("", "None", "NonZeroExitCode") else ""
    silent = next((line for line in log.splitlines() if line.startswith(SILENT)), "")
    return f"Slurm job {number} ended as {cause}{why}{silent and '; '}{silent}. "


# What sbatch or the file system says and may not say a little later. The rest is the profile's, and stays.
PASSING = re.compile(
    r"timed out|unable to contact|connection failure|connection refused|zero bytes were transmitted"
    r"|temporarily unable|unexpected message|backup controller|try again|partition not available"
    r"|not available now|protocol authentication|nodes are busy|MaxSubmit"
    r"|read-only file system|stale file handle|input/output error",
    re.IGNORECASE,
)


def passing(error: str) -> bool:
    """Whether a submission that failed so is worth another one, a little later."""
    return PASSING.search(error) is not None
