"""Atomic writes of the workflow's small files, such as notes and plans.

Jobs write results with ``rllc.store.atomic_write``, which this process may not import.
"""

import os
import uuid
from pathlib import Path


def atomic_write(file: Path, content: str | bytes) -> None:
    """Write a file atomically: write a temporary file beside it, then rename it. Missing folders are made.

    The bytes reach the disk before the rename. Two processes may write the same file at once.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("wb") as stream:
            stream.write(content.encode("utf-8") if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
