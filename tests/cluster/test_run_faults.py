"""Faults of whole runs and of what they left, each with the real thing."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file

HERE = Path(__file__).parent


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM"])
def test_a_run_that_is_told_to_end_cancels_its_jobs_and_the_same_command_goes_on(
    trained, cluster, undisturbed, how
):
    run, _ = trained.start_held(trained.PART)
    before = trained.cells()
    if how == "Ctrl-C":
        run.interrupt(during="squeue")  # the moment at which Snakemake forgets its jobs
    else:  # of a site that ends long processes; a session that ends sends both
        run.signal(signal.SIGTERM, signal.SIGHUP)
    run.end(check=False, seconds=300)
    trained.wait_for(lambda: not cluster.jobs("running,pending,completing"))
    trained.go()
    trained.snakemake(trained.PART)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    trained.check(undisturbed, trained.PART)


@pytest.fixture
def orphaned(trained, cluster):
    """The main process is killed with -9; its jobs run on."""
    run, _ = trained.start_held(trained.RLLC)
    run.kill()
    return trained


def test_a_main_process_killed_while_jobs_run(orphaned, cluster, undisturbed):
    """Its jobs live on; until they end, nothing else writes here; then only what is missing runs."""
    assert "--unlock" in orphaned.snakemake(orphaned.RLLC, check=False)
    orphaned.snakemake("--unlock")
    said = orphaned.snakemake(orphaned.RLLC, check=False)
    assert "jobs of an earlier run are still queued or running" in said
    orphans = re.search(r"scancel ([\d ]+)", said)[1].split()
    assert set(orphans) <= set(cluster.jobs())
    orphaned.go()
    orphaned.wait_for(lambda: not cluster.jobs("running,pending,completing"))
    parts = {path: path.stat().st_mtime_ns for path in (orphaned.root / orphaned.PARTS).glob("*.nc")}
    assert len(parts) == 2
    said = orphaned.snakemake(orphaned.RLLC)
    assert not orphaned.submitted(said, "sample_heads")
    assert {path: path.stat().st_mtime_ns for path in parts} == parts
    orphaned.check(undisturbed)


def test_what_orphans_made_is_not_taken_under_other_settings(orphaned, cluster, undisturbed):
    """Nor where a run of something else came in between."""
    tiny = (orphaned.root / "config/tiny.yaml").read_text()
    orphaned.edit("config/tiny.yaml", "draws: 8", "draws: 7")
    assert "jobs of an earlier run" not in orphaned.snakemake("--unlock")
    cluster.stop_slurmctld()
    try:
        assert "Slurm does not say whether" in orphaned.snakemake(
            orphaned.RLLC, check=False, how=orphaned.LOCAL
        )
    finally:
        cluster.start_slurmctld()
    assert "jobs of an earlier run" in orphaned.snakemake(orphaned.RLLC, check=False, how=orphaned.LOCAL)
    orphaned.go()
    orphaned.wait_for(lambda: not cluster.jobs("running,pending,completing"))
    parts = {path: path.stat().st_mtime_ns for path in (orphaned.root / orphaned.PARTS).glob("*.nc")}
    assert len(parts) == 2
    orphaned.snakemake("--force", "--", "results/tiny/corpora/code.json", how=orphaned.LOCAL)
    orphaned.snakemake(orphaned.RLLC, how=orphaned.LOCAL)
    assert all(path.stat().st_mtime_ns > before for path, before in parts.items())
    orphaned.write("config/tiny.yaml", tiny)
    orphaned.snakemake(orphaned.RLLC, how=orphaned.LOCAL)
    orphaned.check(undisturbed)


def test_a_killed_main_process_whose_jobs_are_cancelled_too(orphaned, cluster, undisturbed):
    """What they left half done is no result."""
    cluster.cancel_all()
    orphaned.go()
    assert orphaned.cells()
    assert not list((orphaned.root / orphaned.PARTS).glob("*.nc"))
    orphaned.snakemake("--unlock")
    assert len(orphaned.submitted(orphaned.snakemake(orphaned.RLLC), "sample_heads")) == 2
    orphaned.check(undisturbed)


@pytest.mark.parametrize("half", ["part", "checkpoint", "dataset"])
def test_a_file_cut_short_afterwards_is_made_again(finished, undisturbed, half):
    """Found by the next run that needs it, before anything reads it."""
    path, after = {
        "part": (finished.PART, [finished.RLLC]),
        "checkpoint": (
            "results/tiny/language/checkpoints/seed0/step0000032.safetensors",
            [finished.PART, finished.RLLC],
        ),
        "dataset": (finished.RLLC, []),
    }[half]
    file = finished.root / path
    whole = file.stat().st_size
    os.truncate(file, whole // 2)
    for later in after:
        (finished.root / later).unlink()
    said = finished.snakemake(finished.RLLC)
    assert f"{file.name} has {whole // 2} bytes" in said
    assert "it will be made again" in said
    assert file.stat().st_size == whole
    finished.check(undisturbed)


TRAINING = "        train_segment(resume,"
# After a kept state the training waits for a file; it says from which step it goes on.
HELD_TRAINING = """
        def held(**given):
            import pathlib, time
            print("goes on from step", int(given["state"]["step"]) if given["state"] else 0, flush=True)
            for checkpoint in resume(**given):
                yield checkpoint
                while checkpoint.step == 36 and not pathlib.Path("go").exists():
                    time.sleep(0.1)

        train_segment(held,"""


def test_a_training_that_slurm_puts_back_in_the_queue_goes_on_from_its_newest_state(
    trained, cluster, undisturbed
):
    """Preempted between two checkpoints, 16 and 32 behind it, it does not train from 16 again."""
    folder = trained.root / "results/tiny/language/checkpoints/seed0"
    weights = {path.name: load_file(path) for path in folder.glob("step*.safetensors")}
    assert len(weights) == 6
    trained.edit("workflow/scripts/train.py", TRAINING, HELD_TRAINING)
    shutil.rmtree(folder)
    run = trained.start(trained.RLLC)
    number = cluster.wait_for("rule_train_wildcards_language_0_20", "RUNNING", folder=str(trained.root))
    trained.wait_for((folder / "state0000036.safetensors").is_file)
    log = trained.root / "results/tiny/logs/train/language/0/20.log"
    assert "goes on from step 16" in log.read_text()
    cluster.requeue(number)
    trained.go()
    said = run.end()
    assert len(trained.submitted(said, "train")) == 2
    assert cluster.job(number)["Restarts"] == "1"
    assert "goes on from step 36" in log.read_text()
    for name, tensors in weights.items():
        again = load_file(folder / name)
        assert set(again) == set(tensors)
        assert all((again[key] == tensors[key]).all() for key in tensors), name
    trained.check(undisturbed)


def test_nothing_of_the_cluster_survives_the_tests(cluster, login):
    """Killed with -9, the test process takes the daemons and their files with it."""
    file = str(HERE / "cluster.py")
    program = (
        "import importlib.util, time\n"
        f"spec = importlib.util.spec_from_file_location('cluster', {file!r})\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        "with module.started() as c:\n"
        "    print(c._enter[2], flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    first = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    login.Login.wait_for(lambda: not Path(f"/proc/{first}").exists(), 10)
    assert not Path("/etc/slurm/slurm.conf").exists()
