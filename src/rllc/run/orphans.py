"""Records of outputs whose jobs outlive the main process of their run.

Snakemake records how a result was made when its main process sees the job end. Jobs of a cluster outlive a
main process that is killed. Their results would have no record, and Snakemake accepts such files under any
settings. So a run on a cluster writes, before its first job, the record that each output is going to have.
Where Snakemake has no record of a file, it compares this one with the settings of now. The next run hands
these records over to Snakemake.
"""

import gzip
import json
import os
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rllc.run.planned import FOLDER

NOTES = FOLDER / "expected"
FIELDS = ("rule", "input", "params", "code", "software_stack_hash", "record_format_version")
LATER = 0.01  # seconds: a file is newer than its record where it is newer by this
_ours: list[Path] = []  # the note of this process


def note(jobs: Iterable[Any], persistence: Any) -> None:
    """Write the records that the outputs of jobs are going to have."""
    from snakemake.persistence import RECORD_FORMAT_VERSION

    records = {}
    for job in jobs:
        fields = (
            job.rule.name, list(map(str, persistence._input(job))), persistence._params(job),
            persistence._code(job.rule), persistence._software_stack_hash(job), RECORD_FORMAT_VERSION,
        )  # fmt: skip
        record = dict(zip(FIELDS, fields, strict=True))
        records |= {str(file): record for file in job.output}
    NOTES.mkdir(parents=True, exist_ok=True)
    file = NOTES / f"{time.time_ns()}-{uuid.uuid4().hex[:8]}.json.gz"
    temporary = file.with_suffix(f".{os.getpid()}")
    temporary.write_bytes(gzip.compress(json.dumps(records).encode(), mtime=0))
    temporary.replace(file)
    _ours.append(file)


def ours() -> bool:
    """Return whether this process has begun a run and not ended it."""
    return any(file.is_file() for file in _ours)


def expected() -> dict[str, dict[str, Any]]:
    """Return output -> its record, of all runs that did not come to their end. The latest run counts."""
    records: dict[str, dict[str, Any]] = {}
    for file in sorted(NOTES.glob("*.json.gz")):
        records |= json.loads(gzip.decompress(file.read_bytes()))
    return records


def serve() -> None:
    """Have Snakemake, in this process, read an expected record where its own is of no file that is there."""
    records = expected()
    if not records:
        return
    from snakemake.persistence import MetadataRecord, PersistenceBase

    own = PersistenceBase.metadata

    def metadata(persistence: Any, target: Any) -> Any:
        record = own(persistence, target)
        if str(target) in records and _is_of_another_file(record, Path(target)):
            return MetadataRecord(**records[str(target)])
        return record

    PersistenceBase.metadata = metadata  # type: ignore[method-assign]


def hand_over(persistence: Any) -> None:
    """Write the expected record of every file that is there without its own, then remove the notes.

    Call it where no job of an earlier run is left: what is absent then will not be made by one.
    """
    from snakemake.persistence import MetadataRecord

    notes = sorted(NOTES.glob("*.json.gz"))
    for output, record in expected().items():
        file = Path(output)
        if _is_of_another_file(persistence._read_record(output), file):
            times = dict.fromkeys(("starttime", "endtime"), file.stat().st_mtime)
            persistence._write_record(output, MetadataRecord(**record, **times, incomplete=False))
    for file in notes:
        file.unlink()


def _is_of_another_file(record: Any, file: Path) -> bool:
    """Return whether a file is there and Snakemake's record is of none, or of an earlier one in its place.

    Snakemake's records hold the time of the file's last change.
    """
    if not file.is_file():
        return False
    return record is None or not record.endtime or file.stat().st_mtime > record.endtime + LATER
