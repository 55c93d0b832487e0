import os
import shutil
import time

import pytest

from rllc.run import contents
from rllc.run.contents import Contents


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two files of the user's, old enough to be settled, and a function that plans: a digest of both."""
    monkeypatch.setattr(contents, "SETTLED", -1)
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("one")
    b.write_text("two")
    time.sleep(0.05)  # some kernels' clocks tick every few milliseconds
    return a, b, lambda: Contents(tmp_path / "rllc/contents.json").digest([a, b])


def moved(new, old):
    new.rename(old)


def copied_in_place(new, old):
    """`cp -p`: the same inode, the mtime of the source."""
    with old.open("r+") as there:
        there.write(new.read_text())
    shutil.copystat(new, old)


@pytest.mark.parametrize("replace", [moved, copied_in_place])
def test_a_file_that_an_older_one_of_its_size_replaces_is_seen(files, tmp_path, replace):
    a, _, digest = files
    os.utime(a, (10_000, 10_000))
    before = digest()
    new = tmp_path / "new"
    new.write_text("ONE")
    os.utime(new, (10_000, 10_000))
    replace(new, a)
    assert a.stat().st_mtime == 10_000
    assert digest() != before


def test_touching_copying_and_replacing_by_the_same_change_nothing(files, tmp_path):
    a, b, digest = files
    before = digest()
    os.utime(a)
    assert digest() == before
    shutil.copy(b, tmp_path / "c")
    moved(tmp_path / "c", b)
    assert digest() == before
    assert Contents(tmp_path / "other.json").digest([b, a]) != before, "the order is information"


def test_a_file_is_read_once(files, monkeypatch):
    _, _, digest = files
    before, read = digest(), []
    monkeypatch.setattr(contents.hashlib, "file_digest", lambda *given: read.append(given))
    assert digest() == before
    assert read == []


def test_a_file_that_has_just_changed_is_not_taken_for_known(files, tmp_path, monkeypatch):
    """Two changes within one tick of the clock have the same times."""
    _, _, digest = files
    monkeypatch.setattr(contents, "SETTLED", 10**15)
    digest()
    assert not (tmp_path / "rllc/contents.json").exists()


@pytest.mark.parametrize("spoilt", ["{", "[]", "3", "null"])
def test_a_missing_file_and_a_spoilt_cache_are_no_errors(files, tmp_path, spoilt):
    a, _, digest = files
    before = digest()
    (tmp_path / "rllc/contents.json").write_text(spoilt)
    assert digest() == before
    a.unlink()
    assert digest() != before
