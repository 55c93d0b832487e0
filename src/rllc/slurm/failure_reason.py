"""Find out why a job of the cluster failed, which resource to raise, and whether a retry may succeed."""

import re
from pathlib import Path
from typing import Any

END = 2**16  # bytes of a log that are searched
# Messages of slurmstepd, the kernel, Python, torch, and libraries in Rust and C++. `mem_mb` does not ask for
# memory of a GPU, so its messages are left out.
MEMORY = re.compile(
    r"oom.?kill|(?<!cuda )out of memory|(?<!OutOf)MemoryError|can(not|'t) allocate memory"
    r"|exceeded \w*\s*memory limit|memory allocation (of \d+ bytes |still )?failed|std::bad_alloc",
    re.IGNORECASE,
)
ASKED = {"memory": ("mem_mb", "MB"), "time": ("runtime", "minutes")}
SILENT = "nothing is in its log"  # text of a job's command (command.py) if the disk is full
FINISHED = "(100%) done"  # Snakemake's last words in the log of a job that made its files


def ended(log: Path) -> str:
    """Return the end of a job's log; "" if there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - END))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def cause(state: str, log: str) -> str:
    """Return the reason of a failure: ``memory``, ``time``, or the job's last state in Slurm."""
    if state == "OUT_OF_MEMORY" or (state != "TIMEOUT" and MEMORY.search(log)):
        return "memory"
    return "time" if state in ("TIMEOUT", "DEADLINE") else state


def sentence(number: str, rule: str, cause: str, reason: str, resources: Any, log: str) -> str:
    """Return a sentence that says what happened to a job, and what to do.

    resources  those that the job asked for

    If the job's own log is empty, the end of Slurm's log is added, since Snakemake does not show it then.
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


# Messages of sbatch or the file system that may pass. All others come from the profile, so a retry fails
# again.
PASSING = re.compile(
    r"timed out|unable to contact|connection failure|connection refused|zero bytes were transmitted"
    r"|temporarily unable|unexpected message|backup controller|try again|partition not available"
    r"|not available now|protocol authentication|nodes are busy|MaxSubmit"
    r"|read-only file system|stale file handle|input/output error",
    re.IGNORECASE,
)


def passing(error: str) -> bool:
    """Return whether a submission with this error is worth a retry a little later."""
    return PASSING.search(error) is not None
