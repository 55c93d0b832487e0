import os
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from rllc.run import leftover


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A part made before a run, one made during it, and one of it that Snakemake recorded."""
    monkeypatch.chdir(tmp_path)
    parts = Path("results/language/parts/hessian")
    parts.mkdir(parents=True)
    (parts / "before.nc").touch()
    os.utime(parts / "before.nc", (1, 1))
    leftover.begin("plan-a.json")
    for name in ("orphan.nc", "recorded.nc", ".orphan.nc"):
        (parts / name).touch()
    record = leftover.RECORDS / urlsafe_b64encode(str(parts / "recorded.nc").encode()).decode()
    record.parent.mkdir(parents=True)
    record.touch()
    return parts


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_unrecorded_results_of_another_plan_are_removed(results):
    everything = names(results)
    (said,) = leftover.drop_leftover(Path("results"), "plan-b.json", dry=True)
    assert "orphan.nc was made under other settings" in said
    assert names(results) == everything
    leftover.drop_leftover(Path("results"), "plan-b.json")
    assert names(results) == [".orphan.nc", "before.nc", "recorded.nc"]


def test_what_is_removed_is_said_in_the_order_of_names(results):
    late = Path("results/language/checkpoints/seed0/from0.json")
    late.parent.mkdir(parents=True)
    for file in (Path("results/language/rllc.nc"), late):
        file.touch()
    said = leftover.drop_leftover(Path("results"), "plan-b.json", dry=True)
    files = [line.partition(" was made")[0] for line in said]
    assert files == [f"results/language/{name}" for name in
                     ("checkpoints/seed0/from0.json", "parts/hessian/orphan.nc", "rllc.nc")]  # fmt: skip


def test_they_are_kept_under_the_same_plan_and_after_a_run_that_ended(results):
    assert leftover.drop_leftover(Path("results"), "plan-a.json") == []
    leftover.end()
    assert leftover.drop_leftover(Path("results"), "plan-b.json") == []


def test_only_the_process_that_began_a_run_ends_it(results, monkeypatch):
    assert leftover.ours()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert not leftover.ours()
    leftover.end()
    assert leftover.MARK.is_file()


def test_records_of_long_names_are_found(tmp_path, monkeypatch):
    """As Snakemake's own class writes them."""
    from snakemake.persistence.file import FilePersistence

    monkeypatch.chdir(tmp_path)
    file = Path("results") / ("a" * 150) / ("b" * 150) / "c.nc"
    persistence = FilePersistence.__new__(FilePersistence)
    persistence._max_len = None
    leftover.RECORDS.mkdir(parents=True)
    assert leftover._record(file) == Path(persistence._record_path(str(leftover.RECORDS), str(file)))
