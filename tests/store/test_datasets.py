"""Datasets where the disk is no plain one: a file system without locks, files that cannot be read."""

import errno
import os
import re
import subprocess
import sys

import lockless
import numpy as np
import pytest
import xarray as xr

from rllc.checksum import EARLIER, MARK, seal
from rllc.run.validate_outputs import problem
from rllc.store.atomic_write import UnreadableResult
from rllc.store.datasets import read_dataset, write_dataset

DATA = xr.Dataset({"a": ("step", np.arange(3.0))}, coords={"step": [0, 1, 2]})
ENOTSUPP = 524  # of the kernel, which NFS hands on; no name in Python's errno
REMOVAL = re.compile("(?i)delete|remove|move it")  # advice that costs a sound file
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, ENOTSUPP, errno.ENOSYS)


def run(code: str, number: int, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python where locks fail with an error number."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    own = lockless.variables(number) | variables
    return subprocess.run(command, env=own, capture_output=True, text=True, timeout=120)


PLAIN = "import sys, xarray; xarray.open_dataset(sys.argv[1])"
COPY = """
import sys
from pathlib import Path
import xarray  # before the package, as in a notebook
from rllc.store.datasets import read_dataset, write_dataset
write_dataset(read_dataset(Path(sys.argv[1])), Path(sys.argv[2]))
"""


def test_result_of_an_earlier_version_is_refused_in_these_words(tmp_path):
    file = tmp_path / "llc.nc"
    write_dataset(DATA, file)
    assert problem(file) is None and read_dataset(file).identical(read_dataset(file))
    file.write_bytes(file.read_bytes().removesuffix(MARK) + EARLIER)
    xr.open_dataset(file).close()  # it stays a file that xarray opens
    assert "made by an earlier version" in problem(file)
    with pytest.raises(UnreadableResult, match="made by an earlier version"):
        read_dataset(file)


@pytest.mark.parametrize("number", NO_LOCKS)
def test_datasets_without_locks_are_read_and_written(tmp_path, number):
    write_dataset(DATA, tmp_path / "a.nc")
    if number != errno.ENOSYS:  # HDF5 knows that one
        assert run(PLAIN, number, tmp_path / "a.nc").returncode, "the shim does nothing"
    done = run(COPY, number, tmp_path / "a.nc", tmp_path / "b.nc")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.nc").read_bytes() == (tmp_path / "a.nc").read_bytes()


def test_dataset_that_locks_are_asked_for_is_called_sound_and_told_how(tmp_path):
    write_dataset(DATA, tmp_path / "a.nc")
    done = run(COPY, errno.ENOLCK, tmp_path / "a.nc", tmp_path / "b.nc", HDF5_USE_FILE_LOCKING="TRUE")
    assert done.returncode
    assert str(tmp_path / "a.nc") in done.stderr
    assert "HDF5_USE_FILE_LOCKING=FALSE" in done.stderr
    assert not REMOVAL.search(done.stderr.splitlines()[-1])


def test_dataset_that_is_not_there_is_called_missing(tmp_path):
    with pytest.raises(UnreadableResult, match=f"{tmp_path}/a.nc is missing"):
        read_dataset(tmp_path / "a.nc")


@pytest.fixture
def not_root():
    """Root, who may read every file, is nobody meanwhile."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield
    if root:
        os.seteuid(0)


@pytest.mark.parametrize("kind", ["folder", "closed"])
def test_dataset_that_cannot_be_opened_is_not_called_damaged(tmp_path, kind, request):
    path = tmp_path / "a.nc"
    if kind == "folder":
        path.mkdir()
    else:
        write_dataset(DATA, path)
        path.chmod(0)
        request.getfixturevalue("not_root")
    with pytest.raises(UnreadableResult) as caught:
        read_dataset(path)
    assert str(path) in str(caught.value)
    assert not REMOVAL.search(str(caught.value))


def test_sealed_file_that_is_no_dataset_is_not_called_damaged(tmp_path):
    """What the seal vouches for is as it was written: the reader is in doubt, not the file."""
    path = tmp_path / "a.nc"
    path.write_bytes(b"something that another version of the library wrote")
    seal(path)
    with pytest.raises(UnreadableResult) as caught:
        read_dataset(path)
    assert str(path) in str(caught.value)
    assert not REMOVAL.search(str(caught.value))
