"""Files of the workflow's own are whole or absent."""

import threading

import pytest

from rllc.run.atomic_write import atomic_write


def test_file_is_written_with_its_folders_and_replaces_an_older_one(tmp_path):
    file = tmp_path / "a" / "b" / "note.json"
    atomic_write(file, "älter")
    atomic_write(file, b"newer")
    assert file.read_bytes() == b"newer"
    assert [each.name for each in file.parent.iterdir()] == ["note.json"]


def test_failure_leaves_the_older_file_and_nothing_beside_it(tmp_path):
    file = tmp_path / "note"
    atomic_write(file, "older")
    with pytest.raises(UnicodeEncodeError):
        atomic_write(file, "\ud800")
    assert file.read_text() == "older" and [*tmp_path.iterdir()] == [file]


def test_many_writers_at_once_leave_one_whole_file(tmp_path):
    file, texts = tmp_path / "note", [str(n) * 100_000 for n in range(8)]
    threads = [threading.Thread(target=atomic_write, args=(file, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read_text() in texts and [*tmp_path.iterdir()] == [file]
