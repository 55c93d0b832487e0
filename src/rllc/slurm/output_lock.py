"""No output has two writers: a job of the cluster claims its output before it touches anything.

Slurm may take a job and report that it did not, keep a job that a killed run submitted, or forget one that
still runs. So the main process writes for every submission a new word into ``current``, and a job begins
only while its word is the one there: of several submissions, the last counts. Then it makes the link
``holder.0``, which names it; where there is one, it waits while Slurm has the job that it names, and takes
``holder.1`` afterwards, and so on. Making a symbolic link is atomic on every shared file system, NFS too, and
nothing has to be removed by a job that is killed: Slurm says whether it lives. (A lock of the kernel would
not do: `flock` is local to the node, or missing, on many of them.)

As a program, before the job: ``python -m rllc.slurm.output_lock FOLDER WORD``.
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

FOLDER = Path(".snakemake/rllc/claims")
CURRENT = "current"


def folder(outputs: Iterable[object], root: Path = FOLDER) -> Path:
    """Where the claims on these files lie, seen from the folder in which the run and its jobs work."""
    names = "\n".join(sorted(map(str, outputs)))
    return root / hashlib.sha256(names.encode()).hexdigest()[:16]


def submit(claims: Path) -> str:
    """The word of a new submission; jobs of earlier ones do not begin any more."""
    word = uuid.uuid4().hex
    atomic_write(claims / CURRENT, word)
    return word


def drop(claims: Path) -> None:
    """The files are made: no job that has not begun will."""
    shutil.rmtree(claims, ignore_errors=True)


def withdraw(root: Path = FOLDER) -> None:
    """The run ends: none of its jobs that has not begun will."""
    for current in root.glob(f"*/{CURRENT}"):
        current.unlink(missing_ok=True)


def take(claims: Path, word: str, job: str, lives: Callable[[str], bool], *, pause: float = 10) -> bool:
    """Claim the output for a job, once no other has it; False: another submission counts.

    job    Slurm's number
    lives  whether Slurm has a job of this number that has not ended
    pause  seconds between two looks at a job that lives
    """
    turn = 0
    while _current(claims) == word:
        holder = claims / f"holder.{turn}"
        try:
            holder.symlink_to(job)
            return True
        except FileExistsError:
            rival = str(holder.readlink())
        except FileNotFoundError:  # dropped meanwhile
            continue
        # The same number: this job, put back into the queue.
        if rival == job or not lives(rival):
            turn += 1
        else:
            print(f"job {rival} is making the same files: waiting for its end", file=sys.stderr, flush=True)
            time.sleep(pause)
    return False


def lives(job: str, *, pause: float = 10) -> bool:
    """Whether Slurm has this job and it has not ended; while Slurm does not answer, there is no answer."""
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
    """Exit with 0 where the job may begin."""
    claims, word = sys.argv[1:]
    if not take(Path(claims), word, os.environ["SLURM_JOB_ID"], lives):
        sys.exit("this job was submitted twice or its run has ended: another job makes its files, or none")


if __name__ == "__main__":
    main()
