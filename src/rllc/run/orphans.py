"""Records of outputs whose jobs outlive the main process of their run.

Snakemake records how a result was made when its main process sees the job end. Jobs of a cluster outlive a
main process that is killed. Their results would have no record, and Snakemake accepts such files under any
settings. So before its first job, a run on a cluster notes the record that each output will have, and the
state of the file before the run. If the state has changed later, that run made the file. If Snakemake has no
record of the file, the noted record is compared with the present settings. The next run hands the noted
records over to Snakemake.
"""

import gzip
import json
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rllc.run.atomic_write import atomic_write
from rllc.run.plan import FOLDER

NOTES = FOLDER / "expected"
FIELDS = ("rule", "input", "params", "code", "software_stack_hash", "record_format_version")
LATER = 0.01  # seconds: a file is newer than its record where it is newer by this
Notes = dict[str, dict[str, Any]]  # output -> {"record": ..., "before": state}
_ours: list[Path] = []  # the note of this process


class UnreadableNote(ValueError):
    """A note that is cut short, or a file that is not a note."""


def note(jobs: Iterable[Any], persistence: Any) -> None:
    """Write the records that the outputs of jobs will have."""
    from snakemake.persistence import RECORD_FORMAT_VERSION

    notes: Notes = {}
    for job in jobs:
        fields = (
            job.rule.name, list(map(str, persistence._input(job))), persistence._params(job),
            persistence._code(job.rule), persistence._software_stack_hash(job), RECORD_FORMAT_VERSION,
        )  # fmt: skip
        record = dict(zip(FIELDS, fields, strict=True))
        notes |= {str(file): {"record": record, "before": _state(Path(file))} for file in job.output}
    file = NOTES / f"{time.time_ns()}-{uuid.uuid4().hex[:8]}.json.gz"
    atomic_write(file, gzip.compress(json.dumps(notes).encode(), mtime=0))
    _ours.append(file)


def ours() -> bool:
    """Return whether this process has begun a run and not ended it."""
    return bool(_ours)


def expected() -> dict[str, dict[str, Any]]:
    """Return output -> its record, for the files that unfinished runs have made."""
    records: dict[str, dict[str, Any]] = {}
    for file in _files():
        made = {output: entry for output, entry in _read(file).items() if _was_made(output, entry)}
        records |= {output: entry["record"] for output, entry in made.items()}
    return records


def serve() -> None:
    """Make Snakemake, in this process, read the expected record of a file that it has no record of.

    Raises UnreadableNote, which names the file.
    """
    records = expected()
    if not records:
        return
    from snakemake.persistence import MetadataRecord, PersistenceBase

    own = PersistenceBase.metadata

    def metadata(self: Any, target: Any) -> Any:
        record = own(self, target)
        if str(target) in records and not is_of(record, Path(target)):
            return MetadataRecord(**records[str(target)])
        return record

    PersistenceBase.metadata = metadata


def hand_over(persistence: Any) -> None:
    """Write the expected record of every file that was made and has no record in Snakemake.

    Notes of files that do not exist yet stay: a job that this run does not know may still make them.
    """
    from snakemake.persistence import MetadataRecord

    _ours.clear()
    persistence._clear_cache()
    for output, record in expected().items():
        file = Path(output)
        if file.is_file() and not is_of(persistence._read_record(output), file):
            times = dict.fromkeys(("starttime", "endtime"), file.stat().st_mtime)
            persistence._write_record(output, MetadataRecord(**record, **times, incomplete=False))
    persistence._clear_cache()
    for note_file in _files():
        entries = _read(note_file)
        left = {output: entry for output, entry in entries.items() if not _was_made(output, entry)}
        if not left:
            note_file.unlink()
        elif len(left) < len(entries):
            atomic_write(note_file, gzip.compress(json.dumps(left).encode(), mtime=0))


def is_of(record: Any, file: Path) -> bool:
    """Return whether Snakemake's record describes the present file, and not an earlier one of the same name.

    A record holds the time of the file's last change.
    """
    if record is None or not file.exists():
        return False
    return record.endtime is not None and file.stat().st_mtime <= record.endtime + LATER


def _files() -> list[Path]:
    """Return the notes, the oldest first."""
    return sorted(NOTES.glob("*.json.gz"))


def _was_made(output: str, entry: dict[str, Any]) -> bool:
    state = _state(Path(output))
    return state is not None and state != entry["before"]


def _state(file: Path) -> list[int] | None:
    """Return the state that tells a file from a later one of the same name; None if the file is missing."""
    try:
        status = file.stat()
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def _read(file: Path) -> Notes:
    try:
        return dict(json.loads(gzip.decompress(file.read_bytes())))
    except (OSError, EOFError, ValueError) as error:
        raise UnreadableNote(
            f"{file} cannot be read ({error}). It says under which settings a run on a cluster made results. "
            "Where no such run was killed, move it away; else move away, too, what that run made"
        ) from error
