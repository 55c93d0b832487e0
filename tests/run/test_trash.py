from pathlib import Path

import pytest

from rllc.run import trash


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "language").mkdir(parents=True)
    return Path("results")


def test_moved_files_keep_content_and_path(results):
    files = [results / "a.nc", results / "language" / "b.nc"]
    for file in files:
        file.write_text(str(file))
    said = trash.move(files, results)
    (folder,) = (results / ".trash").iterdir()
    assert [(folder / file.relative_to(results)).read_text() for file in files] == [str(f) for f in files]
    assert not any(file.exists() for file in files)
    assert str(folder) in said
    assert all(str(file) in said for file in files)


def test_two_moves_in_one_second_lose_nothing(results):
    for content in ("first", "second"):
        (results / "a.nc").write_text(content)
        trash.move([results / "a.nc"], results)
    moved = sorted(file.read_text() for file in (results / ".trash").glob("*/a.nc"))
    assert moved == ["first", "second"]


def test_links_and_folders_are_moved_as_they_are(results):
    (results / "target").write_text("kept")
    (results / "link.nc").symlink_to("target")
    (results / "gone.nc").symlink_to("nowhere")
    (results / "folder.nc").mkdir()
    (results / "folder.nc" / "mine").write_text("mine")
    trash.move([results / name for name in ("link.nc", "gone.nc", "folder.nc")], results)
    (folder,) = (results / ".trash").iterdir()
    assert (folder / "link.nc").is_symlink()
    assert (folder / "gone.nc").readlink() == Path("nowhere")
    assert (folder / "folder.nc" / "mine").read_text() == "mine"
    assert (results / "target").read_text() == "kept"


def test_nothing_to_move_makes_no_folder(results):
    assert trash.move([], results) is None
    assert not (results / ".trash").exists()
