"""Read the datasets of a script from files, by name."""

from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from rllc.store.datasets import read_dataset
from rllc.store.manifest import sha256


def read_named(files: Mapping[str, Path]) -> tuple[dict[str, xr.Dataset], dict[str, str]]:
    """Return the datasets by name, and the SHA-256 of their files as the attribute ``inputs``."""
    return {name: read_dataset(file) for name, file in files.items()}, {
        name: sha256(file) for name, file in files.items()
    }
