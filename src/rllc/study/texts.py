"""Sources of text: files and versions that a corpus depends on, and its size."""

import glob
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

from rllc.study.distributions import Files, Hub, Installed
from rllc.study.inputs import as_input
from rllc.study.local import data_set_files

STDLIB = "stdlib"  # this name among packages stands for the standard library
DOCUMENT = 5.0e3  # bytes of a document of the hub
LONG = 20  # assumed ratio of longest to mean document in a local data set


def files(entry: Installed | Files | Hub) -> list[str]:
    """Return the user's own files. They are inputs, so that an edit makes the corpus again.

    Raises ValueError if a glob matches nothing or follows a loop of links, or a path is not a data set.
    """
    if isinstance(entry, Hub):
        return data_set_files(entry)
    if not isinstance(entry, Files):
        return []
    patterns = [entry.path] if isinstance(entry.path, str) else entry.path
    return list(dict.fromkeys(file for pattern in patterns for file in _matching(pattern)))


def sizes(entry: Installed | Files | Hub) -> tuple[float, float]:
    """Return the approximate bytes of text of a source, and of its largest document.

    For the user's own files this is their size, for a data set of the hub a guess.
    """
    if isinstance(entry, Installed):
        return 1e6 * entry.megabytes, DOCUMENT
    try:
        each = {file: float(Path(file).stat().st_size) for file in files(entry)}
    except (ValueError, OSError):  # the job that reads the files reports it
        each = {}
    total = sum(each.values())
    if isinstance(entry, Hub):
        asked = DOCUMENT * entry.documents
        return min(total or asked, LONG * asked), DOCUMENT
    largest = [size for file, size in each.items() if not file.lower().endswith(".jsonl")]
    return total, max(largest, default=DOCUMENT)


def _matching(pattern: str) -> list[str]:
    """Return the files of a path or a glob. A file's name may look like a glob."""
    try:
        expanded = str(Path(pattern).expanduser())
    except RuntimeError as error:  # no such user
        raise ValueError(f"{pattern!r}: {error}") from None
    if Path(expanded).is_dir():
        raise ValueError(f"{pattern} is a folder: say which files in it, such as {expanded}/**/*.txt")
    if Path(expanded).is_file():
        return [as_input(expanded)]
    matches, fixed = [], Path(expanded)
    while glob.has_magic(str(fixed)):
        fixed = fixed.parent
    for name in glob.iglob(expanded, recursive=True):
        if "**" in expanded:
            _refuse_loop(Path(name).parent, fixed)
        matches += [as_input(name)] if Path(name).is_file() else []
    if not matches:
        raise ValueError(
            f"no file matches {pattern!r} (from {Path.cwd()}); `**` matches any depth of folders"
        )
    return sorted(matches)


@cache
def _refuse_loop(folder: Path, searched: Path) -> None:
    """Raise ValueError if a path below ``searched`` passes a link to a folder that contains the link."""
    for link in (folder, *folder.parents):
        if link == searched:
            return
        if link.is_symlink():
            target, place = link.resolve(), link.parent.resolve()
            if target in (place, *place.parents):
                raise ValueError(
                    f"{link} links to a folder that contains it: remove the link, or do not search it by `**`"
                )


def versions(entry: Installed | Files | Hub) -> dict[str, str]:
    """Return the versions that determine installed text: those of the packages, and Python's.

    A patch of Python changes only the standard library. A minor version also changes which files Python can
    parse.
    """
    if not isinstance(entry, Installed):
        return {}
    whole = python_version()
    found = {"python": whole if STDLIB in entry.packages else ".".join(whole.split(".")[:2])}
    for package in entry.packages:
        if package == STDLIB:
            continue
        try:
            found[package] = version(re.sub(r"\[.*", "", package))
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def normalised(weights: dict[str, float]) -> dict[str, float]:
    """Return weights that sum to 1, sorted by name: their order in the config has no effect."""
    total = sum(weights.values())
    return {name: weights[name] / total for name in sorted(weights)}
