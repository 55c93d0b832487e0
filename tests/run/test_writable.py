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
    assert unwritable([folder / "file/a.nc"]).startswith(f"{folder}/file is no folder")


def test_a_folder_behind_a_dangling_link_is_named_with_its_target(tmp_path):
    (tmp_path / "language").symlink_to("/mnt/nowhere")
    said = unwritable([tmp_path / "a.nc", tmp_path / "language/parts/a.nc"])
    assert f"{tmp_path}/language " in said and "/mnt/nowhere" in said


def test_a_folder_that_must_not_be_looked_into_is_named(folder):
    """As the home of root is for others."""
    closed = folder / "ci"
    os.seteuid(os.getuid())
    (closed / "inner").mkdir()
    closed.chmod(0)
    if os.getuid() == 0:
        os.seteuid(65534)
    assert unwritable([closed / "inner/a.nc"]).startswith(f"{closed} cannot be written to")
    os.seteuid(os.getuid())
    closed.chmod(0o555)
