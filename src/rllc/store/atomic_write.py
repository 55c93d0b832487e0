"""Atomic writes: a result appears under its name only when it is complete."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class UnreadableResult(ValueError):
    """A result file is missing, truncated, corrupt, or of another kind than its name says."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Context manager: yield a temporary path that is renamed to ``path`` if the block raises no error.

    The bytes reach the disk before the rename. So neither a kill nor a full disk leaves half a file under the
    final name. On an error the temporary file is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(text: str, path: Path) -> None:
    """Write a text file atomically."""
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
