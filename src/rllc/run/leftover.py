"""Results that jobs of a cluster made after the main process of their run was killed.

Snakemake records how a result was made when its main process sees the job end. Jobs that outlive it leave
results without a record, which later runs accept whatever the settings are by then. They are right under the
plan that they were made with, so they are kept while that is the plan, and removed once it is another.
"""

import os
from base64 import urlsafe_b64encode
from pathlib import Path

from rllc.run.planned import FOLDER
from rllc.run.sidecars import DATASETS, MANIFESTS

MARK = FOLDER / "running"
RECORDS = Path(".snakemake/metadata")
LONGEST = 254  # characters of a file name, as Snakemake splits its records'


def begin(plan: str) -> None:
    """Note under which plan (name of its file) a run is at work; ``end`` removes the note."""
    MARK.parent.mkdir(parents=True, exist_ok=True)
    MARK.write_text(f"{plan} {os.getpid()}", encoding="utf-8")


def ours() -> bool:
    """Whether the run that is noted is this process's."""
    return MARK.is_file() and _mark()[1] == str(os.getpid())


def end() -> None:
    """Note that this process's run came to its end."""
    if ours():
        MARK.unlink()


def drop_leftover(results: Path, plan: str, *, dry: bool = False) -> list[str]:
    """Remove results of a killed run's jobs that nothing recorded, where the plan is another now.

    dry  say which, remove nothing
    """
    if not MARK.is_file() or _mark()[0] == plan:
        return []
    since = MARK.stat().st_mtime
    problems = []
    for file in sorted(path for pattern in (*MANIFESTS, *DATASETS) for path in results.glob(pattern)):
        if file.name.startswith(".") or file.stat().st_mtime < since or _record(file).is_file():
            continue
        problems.append(f"{file} was made under other settings or code by a job of a run that was killed")
        if not dry:
            file.unlink()
    return problems


def _mark() -> tuple[str, str]:
    """The plan and the process of the run that is noted."""
    plan, _, process = MARK.read_text(encoding="utf-8").partition(" ")
    return plan, process


def _record(file: Path) -> Path:
    """Where Snakemake keeps the record of an output."""
    text = urlsafe_b64encode(str(file).encode()).decode()
    pieces = [text[i : i + LONGEST] for i in range(0, len(text), LONGEST)]
    return RECORDS.joinpath(*(f"@{piece}" for piece in pieces[:-1]), pieces[-1])
