"""Attributes of a result that say how it was made."""

import json
import os
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]  # top folder of the repository, if the package runs from one
PACKAGES = ("rllc", "torch", "transformers", "numpy", "xarray", "netCDF4")


def attributes(**facts: Any) -> dict[str, str]:
    """Return attributes of a result: package versions, and facts as text, names of functions, or JSON."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    texts = {name: _text(value) for name, value in facts.items()}
    return {"Conventions": "CF-1.11", **texts, "versions": json.dumps(versions)}


def _text(value: Any) -> str:
    """Return text as it is, a function as ``module:function``, and everything else as JSON."""
    if callable(value):
        return f"{value.__module__}:{value.__qualname__}"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def stamp() -> dict[str, str]:
    """Return date and git commit, for gathered datasets and figures, whose contents are never compared."""
    return {"created": datetime.now(UTC).isoformat(timespec="seconds"), "git_commit": commit()}


def commit(root: Path = ROOT) -> str:
    """Return the commit of the repository whose top folder is ``root``, with ``-dirty`` if files differ.

    A repository that contains ``root`` is ignored, because it says nothing about this code. A repository that
    the environment names (GIT_DIR in a hook of git) is ignored too. If git cannot read the repository, the
    answer says why.
    """
    if not (root / ".git").exists():
        return "not under git"
    try:
        if _git(root, "rev-parse", "--show-prefix"):  # "" only in the top folder
            return "not under git"
        return _git(root, "describe", "--always", "--dirty", "--abbrev=12")
    except subprocess.CalledProcessError as error:
        why = (error.stderr.strip().splitlines() or [f"git ended with {error.returncode}"])[0]
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    return f"unknown: {why}"


def _git(root: Path, *arguments: str) -> str:
    """Return git's output in a folder, without the variables that point git elsewhere."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", *arguments], cwd=root, env=own, capture_output=True, text=True, errors="replace", check=True,
        timeout=10,
    ).stdout.strip()  # fmt: skip
