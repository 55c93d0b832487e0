"""Where results go can be written to: asked before the first job, which could only fail."""

import os
from collections.abc import Iterable
from pathlib import Path


def closed(files: Iterable[str | Path]) -> Path | None:
    """The first folder, or what is in its place, where one of these files cannot be made; None: all can."""
    for folder in sorted({Path(file).parent for file in files}):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK, effective_ids=True):
            return there
    return None


def unwritable(files: Iterable[str | Path]) -> str | None:
    """What is in the way of making these files, in a sentence; None where nothing is."""
    there = closed(files)
    return there and (
        f"{there} cannot be written to: it is no folder, read-only, or another user's. Mend that or set "
        "`results` in an overlay to a folder of your own"
    )
