"""Files in the results folder that this workflow did not make stay as they are, whatever is run."""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

RESULTS = Path("results/ci")
# Where results of every kind lie, and a folder of the user's own.
PLACES = (
    "", "corpora", "tokenizers", "blocks/bpe", "figures", "logs", "language", "language/parts/metrics",
    "language/checkpoints/seed0", "language/parts/metrics/seed0.code.from0.cells", "my own/folder",
)  # fmt: skip
READING = {
    "dry run": ["-n"],
    "rule graph": ["--rulegraph"],
    "summary": ["--summary"],
    "params changes": ["--list-params-changes"],
    "unlock": ["--unlock"],
    "report": ["--report", "../report.html"],
}


def fill(folder: Path) -> None:
    """Put files of many kinds into a folder, under names that results have too."""
    folder.mkdir(parents=True, exist_ok=True)
    dataset = xr.Dataset({"mine": ("x", np.arange(5.0))})
    dataset.to_netcdf(folder / "mine.nc", engine="scipy", format="NETCDF3_64BIT")
    dataset.to_netcdf(folder / "mine4.nc", engine="netcdf4")
    dataset.to_netcdf(folder / "seed9.nowhere.from0.nc", engine="scipy")
    for name in (
        "text.nc",
        "notes.json",
        "picture.png",
        "state_of_mine.safetensors",
        "from_me.json",
        ".hidden.nc",
    ):
        (folder / name).write_text(f"mine, in {folder}")
    (folder / "empty.nc").touch()
    (folder / "a folder.nc").mkdir()
    (folder / "a folder.nc" / "inside.nc").write_text("mine")
    (folder / "link.nc").symlink_to("mine.nc")
    (folder / "dangling.nc").symlink_to("nowhere.nc")
    (folder / "read only.nc").write_text("mine")
    (folder / "read only.nc").chmod(0o400)


def state(folder: Path, *, only: str = "") -> dict[str, tuple]:
    """Digest, mode and time of every file below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if only and not (set(path.relative_to(folder).parts) & KEPT[only]):
            continue
        status = path.lstat()
        content = str(path.readlink()) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        times = () if path.is_dir() else (status.st_mtime_ns,)
        found[str(path.relative_to(folder))] = (status.st_mode, content, *times)
    return found


KEPT = {
    "foreign": {
        "mine.nc", "mine4.nc", "seed9.nowhere.from0.nc", "text.nc", "notes.json", "picture.png", "link.nc",
        "state_of_mine.safetensors", "from_me.json", ".hidden.nc", "empty.nc", "a folder.nc", "dangling.nc",
        "read only.nc",
    }
}  # fmt: skip


def foreign(root: Path) -> dict[str, tuple]:
    return state(root / RESULTS, only="foreign")


@pytest.fixture
def filled(checkout):
    """A finished study with files of the user in every folder, and one result of each kind spoilt."""
    for place in PLACES:
        fill(checkout.root / RESULTS / place)
    part = checkout.root / RESULTS / "language/parts/metrics/seed0.code.from0.nc"
    part.write_bytes(part.read_bytes()[:200])
    (checkout.root / RESULTS / "language/metrics.nc").unlink()
    (checkout.root / RESULTS / "figures/corpus_summary.png").write_text("an edited picture")
    return checkout


def test_commands_that_read_change_no_file(filled):
    before = state(filled.root / RESULTS)
    for name, arguments in READING.items():
        filled.snakemake(*arguments, check=False)
        assert state(filled.root / RESULTS) == before, name
    subprocess.run(
        [sys.executable, "workflow/status.py", "config/ci.yaml"],
        cwd=filled.root, env=filled.environment(), check=True, capture_output=True,
    )  # fmt: skip
    assert state(filled.root / RESULTS) == before, "status"


def test_lint_changes_no_file(checkout):
    """Of the default study, whose results folder holds files of the user."""
    fill(checkout.root / "results")
    before = state(checkout.root / "results")
    subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint"], cwd=checkout.root, env=checkout.environment(),
        check=True, capture_output=True,
    )  # fmt: skip
    assert state(checkout.root / "results") == before


def test_runs_change_no_foreign_file(filled):
    """A run, a killed one, a changed setting, ``partial`` and ``--forceall``."""
    before = foreign(filled.root)
    assert len(before) == (len(KEPT["foreign"]) + 1) * len(PLACES)
    target = str(RESULTS / "language/metrics.nc")
    filled.snakemake("--", target)
    assert foreign(filled.root) == before, "a run"
    kill_while_running(filled, "--force", str(RESULTS / "language/parts/metrics/seed0.code.from0.nc"))
    filled.snakemake("--unlock")
    assert foreign(filled.root) == before, "a killed run"
    overlay = filled.write(
        "config/changed.yaml", "experiments: {language: {attention_scores: {sequences: 3}}}\n"
    )
    filled.snakemake(overlay, "--", str(RESULTS / "language/attention_scores.nc"))
    assert foreign(filled.root) == before, "a changed setting"
    filled.snakemake("--nolock", "--keep-going", "--", "partial")
    assert foreign(filled.root) == before, "partial"
    filled.snakemake("--forceall", "--", str(RESULTS / "corpora/mixture.json"))
    assert foreign(filled.root) == before, "--forceall"


def kill_while_running(checkout, *arguments):
    """Start a run, and kill its main process as a job begins."""
    call = [sys.executable, "-m", "snakemake", "--cores", "1", "--configfile", "config/ci.yaml", *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = subprocess.Popen(
        call, cwd=checkout.root, env=checkout.environment(), start_new_session=True, **quiet
    )
    deadline = time.monotonic() + 90
    while not any((checkout.root / ".snakemake/incomplete").glob("*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.wait(timeout=60)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)


@pytest.mark.parametrize("kind", ["netCDF-3", "netCDF-4", "folder", "link"])
def test_foreign_file_where_a_result_goes_is_moved_and_kept(checkout, kind):
    """Not taken for the result, and not deleted for it."""
    place = checkout.root / RESULTS / "corpus.nc"
    place.unlink()
    mine = xr.Dataset({"mine": ("x", [1.0])})
    if kind == "folder":
        place.mkdir()
        (place / "mine").write_text("mine")
    elif kind == "link":
        mine.to_netcdf(checkout.root / "elsewhere.nc")
        place.symlink_to(checkout.root / "elsewhere.nc")
    else:
        mine.to_netcdf(place, engine="scipy" if kind == "netCDF-3" else "netcdf4")
    before = state(place.parent)["corpus.nc"]
    done = checkout.snakemake("--", str(RESULTS / "corpus.nc"))
    (moved,) = (checkout.root / RESULTS / ".trash").iterdir()
    assert state(moved)["corpus.nc"] == before
    assert str(moved.relative_to(checkout.root)) in done.stderr
    with xr.open_dataset(place) as made:
        assert "mine" not in made
    if kind == "link":
        assert (checkout.root / "elsewhere.nc").is_file()


def test_dry_run_plans_what_the_run_does(filled):
    target = str(RESULTS / "language/metrics.nc")
    planned = [rule for rule, _ in filled.plan(target)]
    done = filled.snakemake("--", target)
    assert sorted(planned) == ["gather", "metrics"]
    assert f"({len(planned)} of {len(planned)} jobs" in done.stderr


def test_results_copied_without_records_are_used(checkout):
    """As a user does who takes them home from a cluster."""
    shutil.rmtree(checkout.root / ".snakemake")
    assert checkout.plan() == []
