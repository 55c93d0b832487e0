"""Faults, each with the real thing: afterwards the numbers are those of an undisturbed run."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr
from safetensors.numpy import load_file

HERE = Path(__file__).parent
LOCAL = ("--cores", "2")
RLLC = "results/tiny/language/rllc.nc"
PARTS = "results/tiny/language/parts/sampling.heads"
PART = f"{PARTS}/seed0.code.from20.nc"  # one job, two checkpoints: enough for most faults
SAMPLING = "rule_sample_heads"
MEASURE = "    def measure(weights, architecture, step):\n"
SLOW = MEASURE + "        import time; time.sleep({seconds})\n"
# The first checkpoint of each chunk is measured; the others wait for a file.
HELD = MEASURE + (
    "        import pathlib, time\n"
    "        while step not in (0, 32) and not pathlib.Path('go').exists():\n"
    "            time.sleep(0.1)\n"
)


def slowed(study, seconds):
    """Every checkpoint takes so much longer; the numbers stay."""
    study.edit("workflow/scripts/sample_heads.py", MEASURE, SLOW.format(seconds=seconds))


def held(study):
    """Jobs finish one checkpoint and wait until ``go``."""
    study.edit("workflow/scripts/sample_heads.py", MEASURE, HELD)


def go(study):
    study.write("go", "")


def cells(study):
    return sorted((study.root / PARTS).rglob("[0-9]*.nc"))


def submitted(said, rule=None):
    """Slurm's numbers of the jobs that a run submitted."""
    return re.findall(
        rf"SLURM jobid (\d+) \(log: \S*{f'rule_{rule}/' if rule else ''}", said.replace(" with spaces", "")
    )


def check(study, undisturbed, name=RLLC):
    """The numbers are those of the undisturbed study, and no half-written file is left."""
    xr.testing.assert_identical(study.dataset(name), undisturbed.dataset(name))
    left = [path for path in (study.root / "results").rglob(".*") if path.is_file()]
    assert left == []


def test_a_job_that_is_cancelled_while_it_samples_goes_on(trained, cluster, undisturbed):
    held(trained)
    run = trained.start(PART)
    number = cluster.wait_for(SAMPLING, "RUNNING", folder=str(trained.root))
    trained.wait_for(lambda: cells(trained))
    before = {path: path.stat().st_mtime_ns for path in cells(trained)}
    cluster.run("scancel", number)
    go(trained)
    said = run.end()
    assert len(submitted(said, "sample_heads")) == 2
    assert all(path.stat().st_mtime_ns == when for path, when in before.items()), (
        "finished cells were made again"
    )
    check(trained, undisturbed, PART)


def test_a_job_killed_for_memory_gets_more(trained, cluster, undisturbed):
    """The cost model is made to promise far too little: three times as much is enough."""
    trained.edit("src/rllc/plan/cost.py", "START + seconds, 900 +", "START + seconds, 260 +")
    said = trained.snakemake(PART)
    asked = {n: cluster.job(n)["MinMemoryNode"] for n in submitted(said, "sample_heads")}
    assert len(asked) > 1, said[-3000:]
    assert len(set(asked.values())) > 1, asked
    check(trained, undisturbed, PART)


def test_a_job_out_of_time_gets_more_and_goes_on(trained, cluster, undisturbed):
    # Slurm's shortest limit is a minute, and it looks every thirty seconds: one checkpoint fits, two do not.
    slowed(trained, 45)
    trained.edit("src/rllc/plan/cost.py", "limit = max(10,", "limit = max(1,")
    said = trained.snakemake(PART)
    jobs = {n: cluster.job(n) for n in submitted(said, "sample_heads")}
    assert {"TIMEOUT", "COMPLETED"} == {job["JobState"] for job in jobs.values()}
    assert {"00:01:00", "00:02:00"} <= {job["TimeLimit"] for job in jobs.values()}
    check(trained, undisturbed, PART)


def test_slurmd_may_die_and_come_back(trained, cluster, undisturbed):
    held(trained)
    run = trained.start(PART)
    cluster.wait_for(SAMPLING, "RUNNING", folder=str(trained.root))
    trained.wait_for(lambda: cells(trained))
    cluster.stop_slurmd()
    cluster.start_slurmd()
    go(trained)
    assert len(submitted(run.end(), "sample_heads")) == 1
    check(trained, undisturbed, PART)


def test_ctrl_c_cancels_the_jobs_and_the_same_command_goes_on(trained, cluster, undisturbed):
    held(trained)
    run = trained.start(PART)
    cluster.wait_for(SAMPLING, "RUNNING", folder=str(trained.root))
    trained.wait_for(lambda: cells(trained))
    before = {path: path.stat().st_mtime_ns for path in cells(trained)}
    run.interrupt()
    run.end(check=False)
    trained.wait_for(lambda: not cluster.jobs("running,pending,completing"))
    go(trained)
    trained.snakemake(PART)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    check(trained, undisturbed, PART)


@pytest.fixture
def orphaned(trained, cluster):
    """The main process is killed with -9; its jobs run on."""
    held(trained)
    run = trained.start(RLLC)
    cluster.wait_for(SAMPLING, "RUNNING", folder=str(trained.root))
    trained.wait_for(lambda: cells(trained))
    run.kill()
    return trained


def test_a_main_process_killed_while_jobs_run(orphaned, cluster, undisturbed):
    """Its jobs live on; until they end, nothing else writes here; then only what is missing runs."""
    assert "--unlock" in orphaned.snakemake(RLLC, check=False)
    orphaned.snakemake("--unlock")
    said = orphaned.snakemake(RLLC, check=False)
    assert "jobs of an earlier run are still queued or running" in said
    orphans = re.search(r"scancel ([\d ]+)", said)[1].split()
    assert set(orphans) <= set(cluster.jobs())
    go(orphaned)
    orphaned.wait_for(lambda: not cluster.jobs("running,pending,completing"))
    parts = {path: path.stat().st_mtime_ns for path in (orphaned.root / PARTS).glob("*.nc")}
    assert len(parts) == 2
    said = orphaned.snakemake(RLLC)
    assert not submitted(said, "sample_heads")
    assert {path: path.stat().st_mtime_ns for path in parts} == parts
    check(orphaned, undisturbed)


def test_what_orphans_made_is_not_taken_under_other_settings(orphaned, cluster, undisturbed):
    """Nothing recorded how they were made."""
    tiny = (orphaned.root / "config/tiny.yaml").read_text()
    orphaned.edit("config/tiny.yaml", "draws: 8", "draws: 7")
    assert "jobs of an earlier run" not in orphaned.snakemake("--unlock")
    assert "jobs of an earlier run" in orphaned.snakemake(RLLC, check=False, how=LOCAL)
    go(orphaned)
    orphaned.wait_for(lambda: not cluster.jobs("running,pending,completing"))
    said = orphaned.snakemake(RLLC, how=LOCAL)
    assert said.count("by a job of a run that was killed: it will be made again") == 2
    orphaned.write("config/tiny.yaml", tiny)
    orphaned.snakemake(RLLC, how=LOCAL)
    check(orphaned, undisturbed)


def test_a_killed_main_process_whose_jobs_are_cancelled_too(orphaned, cluster, undisturbed):
    """What they left half done is no result."""
    cluster.cancel_all()
    go(orphaned)
    assert cells(orphaned)
    assert not list((orphaned.root / PARTS).glob("*.nc"))
    orphaned.snakemake("--unlock")
    assert len(submitted(orphaned.snakemake(RLLC), "sample_heads")) == 2
    check(orphaned, undisturbed)


@pytest.mark.parametrize("half", ["part", "checkpoint", "dataset"])
def test_a_file_cut_short_afterwards_is_made_again(finished, undisturbed, half):
    """Found by the next run that needs it, before anything reads it."""
    path, after = {
        "part": (PART, [RLLC]),
        "checkpoint": ("results/tiny/language/checkpoints/seed0/step0000032.safetensors", [PART, RLLC]),
        "dataset": (RLLC, []),
    }[half]
    file = finished.root / path
    whole = file.stat().st_size
    os.truncate(file, whole // 2)
    for later in after:
        (finished.root / later).unlink()
    said = finished.snakemake(RLLC)
    assert f"{file.name} has {whole // 2} bytes" in said
    assert "it will be made again" in said
    assert file.stat().st_size == whole
    check(finished, undisturbed)


def test_no_job_runs_under_code_that_it_was_not_planned_with(trained, cluster, undisturbed):
    """Source edited while jobs wait in the queue."""
    cluster.run("scontrol", "update", "PartitionName=cpu", "State=DOWN")
    try:
        run = trained.start(PART, "--retries", "0")
        cluster.wait_for(SAMPLING, "PENDING", folder=str(trained.root))
        trained.edit("src/rllc/measures/samplers/sgld.py", "\ndef ", "\nMORE = 1\n\n\ndef ")
    finally:
        cluster.run("scontrol", "update", "PartitionName=cpu", "State=UP")
    said = run.end(check=False)
    assert "the source changed after this job was planned" in said
    assert not list((trained.root / PARTS).rglob("*.nc"))
    trained.snakemake(PART)
    check(trained, undisturbed, PART)


def test_jobs_keep_the_config_they_were_planned_with(trained, cluster, undisturbed):
    """An overlay edited while jobs wait in the queue is the next run's."""
    cluster.run("scontrol", "update", "PartitionName=cpu", "State=DOWN")
    overlay = (trained.root / "config/tiny.yaml").read_text()
    try:
        run = trained.start(PART)
        cluster.wait_for(SAMPLING, "PENDING", folder=str(trained.root))
        trained.edit("config/tiny.yaml", "draws: 8", "draws: 7")
    finally:
        cluster.run("scontrol", "update", "PartitionName=cpu", "State=UP")
    run.end()
    check(trained, undisturbed, PART)
    trained.write("config/tiny.yaml", overlay)
    assert "Nothing to be done" in trained.snakemake(PART)


def test_a_full_disk(trained, cluster, undisturbed):
    """Results on a file system that is full: the job says so; once there is room, the run goes on."""
    results = trained.root / "results/tiny"
    kept = trained.root / "kept"
    results.rename(kept)
    results.mkdir()
    size = sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())
    cluster.run("mount", "-t", "tmpfs", "-o", f"size={size + 4_000_000}", "none", str(results))
    try:
        cluster.run("cp", "-a", f"{kept}/.", str(results))
        cluster.run("sh", "-c", f"head -c 100M /dev/zero > '{results}/ballast'", check=False)
        said = trained.snakemake(PART, "--retries", "0", check=False)
        assert "No space left on device" in said or "the disk is full" in said
        cluster.run("rm", f"{results}/ballast")
        trained.snakemake(PART)
        cluster.run("cp", "-a", f"{results}/language", str(kept))
    finally:
        cluster.cancel_all()
        cluster.run("umount", "-l", str(results))
    results.rmdir()
    kept.rename(results)
    check(trained, undisturbed, PART)


def test_a_job_that_slurm_puts_back_in_the_queue_goes_on(trained, cluster, undisturbed):
    """Preemption, or a node that fails: the same job starts again and resumes at the next cell."""
    held(trained)
    run = trained.start(PART)
    number = cluster.wait_for(SAMPLING, "RUNNING", folder=str(trained.root))
    trained.wait_for(lambda: cells(trained))
    before = {path: path.stat().st_mtime_ns for path in cells(trained)}
    cluster.requeue(number)
    go(trained)
    said = run.end()
    assert len(submitted(said, "sample_heads")) == 1
    assert cluster.job(number)["Restarts"] == "1"
    assert {path: path.stat().st_mtime_ns for path in before} == before
    check(trained, undisturbed, PART)


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
    run = trained.start(RLLC)
    number = cluster.wait_for("rule_train_wildcards_language_0_20", "RUNNING", folder=str(trained.root))
    trained.wait_for((folder / "state0000036.safetensors").is_file)
    log = trained.root / "results/tiny/logs/train/language/0/20.log"
    assert "goes on from step 16" in log.read_text()
    cluster.requeue(number)
    go(trained)
    said = run.end()
    assert len(submitted(said, "train")) == 2
    assert cluster.job(number)["Restarts"] == "1"
    assert "goes on from step 36" in log.read_text()
    for name, tensors in weights.items():
        again = load_file(folder / name)
        assert set(again) == set(tensors)
        assert all((again[key] == tensors[key]).all() for key in tensors), name
    check(trained, undisturbed)


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
