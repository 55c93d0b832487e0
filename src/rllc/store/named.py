"""Datasets that a script is given as files, and their names apart."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import xarray as xr

from rllc.store.datasets import read_dataset
from rllc.store.manifest import sha256


def read_named(names: Iterable[str], paths: Sequence[Path]) -> tuple[dict[str, xr.Dataset], dict[str, str]]:
    """Every dataset by its name, and the SHA-256 of its file, as ``inputs`` of what is made of them."""
    given = dict(zip(names, paths, strict=True))
    return {name: read_dataset(path) for name, path in given.items()}, {
        name: sha256(path) for name, path in given.items()
    }
