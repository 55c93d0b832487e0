"""A folder for files that were in the way of results. Nothing is ever deleted."""

import shutil
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

NAME = ".trash"
NAMED = 5  # at most so many files are named in a message


def move(files: Iterable[Path], results: Path) -> str | None:
    """Move files to ``<results>/.trash/<date>/``; return the sentence that says so, or None without files.

    Each keeps its path below the results folder. Raise OSError where a file cannot be moved.
    """
    files = list(files)
    if not files:
        return None
    folder = _new_folder(results / NAME)
    for file in files:
        target = folder / file.relative_to(results)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, target)
    names = ", ".join(str(file) for file in files[:NAMED])
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    return f"Moved to {folder}: {names}{more}. Delete that folder when you need none of it."


def _new_folder(trash: Path) -> Path:
    """Make a folder named by the current time."""
    date = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    for number in range(1, 1000):
        folder = trash / (date if number == 1 else f"{date}.{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{trash} has a thousand folders of {date}")
