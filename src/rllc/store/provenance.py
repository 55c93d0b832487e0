"""What a result says of how it was made."""

import json
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("rllc", "torch", "numpy", "xarray", "netCDF4")


def attributes(**facts: Any) -> dict[str, str]:
    """Attributes of a result: facts as JSON (text as it is, functions by name) and package versions."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    texts = {name: _text(value) for name, value in facts.items()}
    return {"Conventions": "CF-1.11", **texts, "versions": json.dumps(versions)}


def _text(value: Any) -> str:
    """Text as it is, a function as ``module:function``, everything else as JSON."""
    if callable(value):
        return f"{value.__module__}:{value.__qualname__}"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def stamp() -> dict[str, str]:
    """Date and git commit: only for gathered datasets and figures, which nothing compares by content."""
    try:
        commit = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        commit = "not under git"
    return {"created": datetime.now(UTC).isoformat(timespec="seconds"), "git_commit": commit}
