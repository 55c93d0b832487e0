"""Locks of outputs: a job of the cluster locks its output before it starts, so no output has two writers.

Slurm may accept a job and report that it did not. It may keep a job of a killed run, or forget a running one.
So the main process issues a new token for every submission and writes it into ``current``. A job starts only
while its token is there, so the last of several submissions counts. Then the job makes the symbolic link
``holder.0``, which names it. If the link exists, the job waits until Slurm no longer has the job named there,
and then takes ``holder.1``, and so on.

Making a symbolic link is atomic on every shared file system, NFS too. A killed job need not remove anything:
Slurm says whether it lives. A lock of the kernel (`flock`) is local to the node, or missing, on many
clusters.

As a program, before the job: ``python -m rllc.slurm.output_lock FOLDER TOKEN``.
"""

import hashlib
import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

from rllc.run.atomic_write import atomic_write
from rllc.slurm.queue import ENDED, Unanswered, answer

FOLDER = Path(".snakemake/rllc/output_locks")
CURRENT = "current"


def folder(outputs: Iterable[object], root: Path = FOLDER) -> Path:
    """Return the folder of the lock on these files, relative to the working directory of the run."""
    names = "\n".join(sorted(map(str, outputs)))
    return root / hashlib.sha256(names.encode()).hexdigest()[:16]


def submit(claims: Path) -> str:
    """Issue a token for a new submission. Jobs that hold an older token refuse to start."""
    word = uuid.uuid4().hex
    atomic_write(claims / CURRENT, word)
    return word


def drop(claims: Path) -> None:
    """Withdraw the token because the files are made: a job that has not started refuses to start."""
    shutil.rmtree(claims, ignore_errors=True)


def withdraw(root: Path = FOLDER) -> None:
    """Withdraw all tokens because the run ends: a job that has not started refuses to start."""
    for current in root.glob(f"*/{CURRENT}"):
        current.unlink(missing_ok=True)


def take(claims: Path, word: str, job: str, lives: Callable[[str], bool], *, pause: float = 10) -> bool:
    """Lock the output for a job, after any other holder has ended. Return False if the token is not current.

    word   the job's token
    job    Slurm's number of the job
    lives  returns whether Slurm has a job of this number that has not ended
    pause  seconds between two checks of the present holder
    """
    turn = 0
    while _current(claims) == word:
        holder = claims / f"holder.{turn}"
        try:
            holder.symlink_to(job)
            return True
        except FileExistsError:
            rival = str(holder.readlink())
        except FileNotFoundError:  # withdrawn meanwhile
            continue
        # The same number: Slurm requeued this job.
        if rival == job or not lives(rival):
            turn += 1
        else:
            print(f"job {rival} is making the same files: waiting for its end", file=sys.stderr, flush=True)
            time.sleep(pause)
    return False


def lives(job: str, *, pause: float = 10) -> bool:
    """Return whether Slurm has this job and it has not ended. Wait while Slurm does not answer."""
    while True:
        try:
            told = answer("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T").split()
        except Unanswered as error:
            if "Invalid job id" in str(error):
                return False
            print(f"Slurm does not answer ({error}): asking again", file=sys.stderr, flush=True)
            time.sleep(pause)
        else:
            return any(state not in ENDED for state in told)


def _current(claims: Path) -> str:
    try:
        return (claims / CURRENT).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def main() -> None:
    """Exit with 0 if the job may start."""
    claims, word = sys.argv[1:]
    if not take(Path(claims), word, os.environ["SLURM_JOB_ID"], lives):
        sys.exit("this job was submitted twice or its run has ended: another job makes its files, or none")


if __name__ == "__main__":
    main()
