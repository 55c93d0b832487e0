import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr

from rllc.store.atomic_write import UnreadableResult, whole, write_text
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.labels import labelled

DATA = xr.Dataset({"a": ("step", np.arange(3.0))}, coords={"step": [0, 1, 2]})


def test_what_is_written_is_read(tmp_path):
    write_dataset(DATA, tmp_path / "new" / "a.nc")
    xr.testing.assert_identical(read_dataset(tmp_path / "new" / "a.nc"), labelled(DATA))


def test_equal_datasets_give_equal_bytes(tmp_path):
    for name in "ab":
        write_dataset(DATA, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_text_comes_back_as_objects(tmp_path):
    labelled = DATA.assign_coords(head=("head", np.asarray(["0:0", "1:6"], dtype=object)))
    write_dataset(labelled, tmp_path / "a.nc")
    assert read_dataset(tmp_path / "a.nc")["head"].dtype == object


def test_an_error_leaves_what_was_there(tmp_path):
    write_text("before", tmp_path / "a")
    with pytest.raises(RuntimeError), whole(tmp_path / "a") as temporary:
        temporary.write_text("after")
        raise RuntimeError
    assert (tmp_path / "a").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    "spoil", [lambda content: content[: len(content) // 2], lambda _: b"", lambda _: b"junk"]
)
def test_spoilt_datasets_are_refused_by_name(tmp_path, spoil):
    path = tmp_path / "a.nc"
    write_dataset(DATA, path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UnreadableResult, match=f"{path} cannot be used: .*Move it away and run again"):
        read_dataset(path)


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path):
    """In numbers, labels, attributes, the format's own bookkeeping and the digest itself."""
    path = tmp_path / "a.nc"
    write_dataset(DATA.assign(t=("step", np.array(["b", "c", "d"], dtype=object))).assign_attrs(a="x"), path)
    sound = path.read_bytes()
    for place in [*range(0, len(sound), 97), len(sound) - 20, len(sound) - 1]:
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 4]) + sound[place + 1 :])
        with pytest.raises(UnreadableResult, match="Move it away and run again"):
            read_dataset(path)
    path.write_bytes(sound)
    assert xr.open_dataset(path).attrs == read_dataset(path).attrs == {"a": "x"}


def test_files_get_the_users_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_text("x", tmp_path / "a")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


WRITER = """
import resource, signal, sys, time
from pathlib import Path
from rllc.store.labels import labelled
from rllc.store.atomic_write import whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if sys.argv[2] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with whole(Path(sys.argv[1])) as temporary:
    with temporary.open("wb") as file:
        for _ in range(100):
            file.write(b"x" * 100)
            file.flush()
            print("writing", flush=True)
            time.sleep(0.02 if sys.argv[2] == "slow" else 0)
"""


def test_a_full_disk_leaves_nothing_under_the_final_name(tmp_path):
    """A limit on file size stands for the disk: the same error at the same place."""
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path / "a"), "full"], capture_output=True, text=True
    )
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_kill_in_the_middle_leaves_nothing_under_the_final_name(tmp_path):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "a"), "slow"], stdout=subprocess.PIPE, text=True
    )
    for _ in range(3):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    time.sleep(0.05)
    assert not (tmp_path / "a").exists()
    write_text("made again", tmp_path / "a")
    assert (tmp_path / "a").read_text() == "made again"
