"""Where results go is a folder, or can become one: asked when the config is read."""

import os
import tempfile
from pathlib import Path

import pytest

from rllc.study.config_model import ConfigError
from rllc.study.layout import Layout


def refused(results: Path | str) -> str:
    with pytest.raises(ConfigError) as caught:
        Layout(str(results)).refuse_unusable(["language"])
    return str(caught.value)


def test_results_that_are_a_file_or_in_one_are_refused(tmp_path):
    (tmp_path / "taken").touch()
    for results in "taken", "taken/deep/results":
        assert f"results: {tmp_path}/taken is no folder" in refused(tmp_path / results)


def test_results_that_are_new_or_behind_a_link_are_taken(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    (tmp_path / "relative").symlink_to("disk")
    for results in "new", "new/deep", "link", "link/deep", "relative":
        Layout(str(tmp_path / results)).refuse_unusable()


@pytest.mark.parametrize("results", ["link", "link/deep", "link/deep/er"])
@pytest.mark.parametrize("target", ["/mnt/nowhere/scratch", "nowhere", "link"])
def test_results_behind_a_dangling_link_are_refused_with_link_and_target(tmp_path, results, target):
    """A disk that is not mounted, a folder that is gone, a link to itself."""
    (tmp_path / "link").symlink_to(target)
    said = refused(tmp_path / results)
    assert f"{tmp_path}/link " in said and str(tmp_path / target) in said
    assert not (tmp_path / "nowhere").exists(), "a disk that is not mounted must not be made up"


@pytest.mark.parametrize("name", ["language", "figures"])
def test_results_with_a_dangling_link_in_them_are_refused(tmp_path, name):
    """Experiments are kept on other disks, one by one."""
    (tmp_path / name).symlink_to("/mnt/nowhere")
    assert f"{tmp_path}/{name} " in refused(tmp_path)


def test_results_with_a_dangling_link_of_the_user_are_taken(tmp_path):
    (tmp_path / "notes").symlink_to("/mnt/nowhere")
    Layout(str(tmp_path)).refuse_unusable(["language"])


def test_results_in_a_folder_that_must_not_be_looked_into_are_refused():
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "theirs"
        folder.mkdir(mode=0o700)
        Path(name).chmod(0o755)
        folder.chmod(0)
        if root:
            os.seteuid(65534)
        try:
            said = refused(folder / "mine/deep")
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)
    assert str(folder) in said
