"""What the rule that reads a corpus is told, and which files and versions its text depends on."""

import glob
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Any

from rllc.study.distributions import Files, Hub, Installed
from rllc.study.taken import data_set_files


def source(entry: Installed | Files | Hub) -> dict[str, Any]:
    """Arguments of the reader: every key but the split and the label."""
    return entry.model_dump(exclude={"held_out", "label"})


def files(entry: Installed | Files | Hub) -> list[str]:
    """The user's own files, so that editing one makes its corpus again.

    Raises ValueError where a glob matches nothing, or a path no data set.
    """
    if isinstance(entry, Hub):
        return data_set_files(entry)
    if not isinstance(entry, Files):
        return []
    found: list[str] = []
    for pattern in [entry.path] if isinstance(entry.path, str) else entry.path:
        expanded = str(Path(pattern).expanduser())
        matches = [name for name in sorted(glob.glob(expanded, recursive=True)) if Path(name).is_file()]
        if not matches:
            raise ValueError(
                f"no file matches {pattern!r} (from {Path.cwd()}); `**` matches any depth of folders"
            )
        found += matches
    return found


def versions(entry: Installed | Files | Hub) -> dict[str, str]:
    """Versions that installed text is a function of: Python's and each package's."""
    if not isinstance(entry, Installed):
        return {}
    found = {"python": python_version()}
    for package in entry.packages:
        if package == "stdlib":
            continue
        try:
            found[package] = version(re.sub(r"\[.*", "", package))
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def normalised(weights: dict[str, float]) -> dict[str, float]:
    """Weights that sum to 1, by name: their order in the config means nothing."""
    total = sum(weights.values())
    return {name: weights[name] / total for name in sorted(weights)}
