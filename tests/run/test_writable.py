import os
import tempfile
from pathlib import Path

import pytest

from rllc.run.writable import unwritable


@pytest.fixture
def folder():
    """A folder that its user must not write to; root, who may, is nobody meanwhile."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "ci").mkdir()
        (Path(name) / "file").touch()
        (Path(name) / "ci").chmod(0o555)
        Path(name).chmod(0o777)
        if root:
            os.seteuid(65534)
        yield Path(name)
        if root:
            os.seteuid(0)
        (Path(name) / "ci").chmod(0o755)


def test_a_folder_that_cannot_be_written_to_is_named_with_a_cure(folder):
    assert unwritable([folder / "a.nc", folder / "new/deep/a.nc"]) is None
    for file in ("ci/a.nc", "ci/new/a.nc"):
        said = unwritable([folder / "a.nc", folder / file])
        assert said.startswith(f"{folder}/ci cannot be written to")
        assert "set `results` in an overlay" in said
    assert unwritable([folder / "file/a.nc"]).startswith(f"{folder}/file cannot be written to")
