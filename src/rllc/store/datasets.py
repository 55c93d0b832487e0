"""Datasets on disk: small netCDF-4 files that plain xarray opens."""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import xarray as xr

from rllc.checksum import seal, unsealed
from rllc.store.atomic_write import UnreadableResult, whole
from rllc.store.labels import labelled

# HDF5 asks for a lock, which many shared file systems refuse. Files are written atomically and need none.
os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")


def write_dataset(dataset: xr.Dataset, path: Path) -> None:
    """Write a sealed netCDF-4 file atomically. The same dataset always gives the same bytes.

    Every variable and coordinate gets a short ``long_name`` and ``units`` (``rllc.store.labels``).
    """
    with whole(path) as temporary:
        labelled(dataset).to_netcdf(temporary, engine="netcdf4")
        seal(temporary)


def read_dataset(path: Path) -> xr.Dataset:
    """Read a sealed netCDF file into memory and close it.

    Raises UnreadableResult, which names the file and a remedy, even if a single byte has changed.
    """
    try:
        problem = unsealed(path)
    except FileNotFoundError as error:
        raise UnreadableResult(f"{path} is missing: run again to make it") from error
    except OSError as error:
        raise UnreadableResult(
            f"{path} cannot be read ({error.strerror}): mend that and run again"
        ) from error
    if problem:
        raise UnreadableResult(
            f"{path} cannot be used: {problem}. Move it away and run again: only it and what depends on it "
            "are made again"
        )
    try:
        with xr.open_dataset(path, engine="netcdf4") as dataset:
            return text_as_objects(dataset.load())
    except (OSError, ValueError, RuntimeError) as error:
        raise UnreadableResult(
            f"{path} has every byte that was written, and yet cannot be read here: {error}. Keep it. Where "
            "its file system has no locks, start again with HDF5_USE_FILE_LOCKING=FALSE in the environment; "
            "else compare xarray and netCDF4 with envs/requirements.lock"
        ) from error


def open_results(path: str | Path) -> xr.Dataset:
    """Return one dataset of results, in memory, after a check that no byte has changed since it was written.

    path  a netCDF file that the workflow has made, as ``results/language/rllc.nc``

    Raises FileNotFoundError if there is no such file, ``UnreadableResult`` (a ValueError) if it is incomplete
    or has changed, ImportError without netCDF4. Open a file that the workflow did not make with ``xarray``.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_dataset(xr.Dataset({"loss": ("step", [2.0, 1.5])}), Path(folder, "metrics.nc"))
    ...     open_results(f"{folder}/metrics.nc")["loss"].values.tolist()
    [2.0, 1.5]
    """
    if find_spec("netCDF4") is None:
        raise ImportError("results are netCDF files: pip install netCDF4, or rllc[workflow]")
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist: give the path of a .nc file that a run has made")
    if Path(path).is_dir():
        names = ", ".join(sorted(file.name for file in Path(path).glob("*.nc"))) or "none"
        raise FileNotFoundError(f"{path} is a folder: give one of its datasets ({names})")
    return read_dataset(Path(path))


def text_as_objects(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with strings as Python objects, so that datasets can be concatenated."""
    text = [name for name, variable in dataset.variables.items() if variable.dtype.kind in "UTS"]
    return dataset.assign(
        {name: dataset[name].astype(object) for name in text if name in dataset.data_vars}
    ).assign_coords(
        {
            name: (dataset[name].dims, np.asarray(dataset[name].values, dtype=object), dataset[name].attrs)
            for name in text
            if name in dataset.coords
        }
    )
