"""Check before the first job that the folders of results are writable."""

import os
from collections.abc import Iterable
from pathlib import Path

from rllc.study.layout import no_folder


def closed(files: Iterable[str | Path]) -> Path | None:
    """Return the first folder, or file in its place, that cannot take one of these files; else None."""
    for folder in sorted({Path(file).parent for file in files}):
        # `lexists`: a link that leads nowhere is in the way, and a closed folder hides what is in it.
        there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
        if not os.access(there, os.W_OK | os.X_OK, effective_ids=True) or not there.is_dir():
            return there
    return None


def unwritable(files: Iterable[str | Path]) -> str | None:
    """Return an error sentence if one of these files cannot be made, else None."""
    there = closed(files)
    if there is None:
        return None
    problem = no_folder(there)
    return problem or (
        f"{there} cannot be written to: it is read-only or another user's. Mend that or set `results` in an "
        "overlay to a folder of your own"
    )
