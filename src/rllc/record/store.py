"""Files that are whole or absent: a result appears under its name only when it is complete."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import xarray as xr


class UnreadableResult(ValueError):
    """A result file is truncated, corrupt or not what its name says."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its name when the block ends without an error.

    The bytes reach the disk before the name does, so neither a kill nor a full disk leaves half a file
    under a final name. On an error the temporary file is removed.
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
    """Write a text file, whole or not at all."""
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write a netCDF-4 file, whole or not at all; the same dataset always gives the same bytes."""
    with whole(path) as temporary:
        dataset.to_netcdf(temporary, engine="netcdf4")


def read_dataset(path: Path) -> xr.Dataset:
    """Read a netCDF file into memory and close it.

    Raises UnreadableResult naming the file and what to do.
    """
    try:
        with xr.open_dataset(path, engine="netcdf4") as dataset:
            loaded = dataset.load()
    except (OSError, ValueError, RuntimeError) as error:
        raise UnreadableResult(
            f"{path} cannot be read as netCDF ({error}); it is truncated or corrupt. "
            "Delete it and run again: only it and what depends on it are remade"
        ) from error
    return text_as_objects(loaded)


def text_as_objects(dataset: xr.Dataset) -> xr.Dataset:
    """Strings as Python objects, whatever dtype they were read with, so that concatenation agrees."""
    text = [name for name, variable in dataset.variables.items() if variable.dtype.kind in "UTS"]
    return dataset.assign(
        {name: dataset[name].astype(object) for name in text if name in dataset.data_vars}
    ).assign_coords(
        {
            name: (dataset[name].dims, np.asarray(dataset[name].values, dtype=object))
            for name in text
            if name in dataset.coords
        }
    )
