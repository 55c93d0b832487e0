"""Faults of jobs, each with the real thing: afterwards the numbers are those of an undisturbed run."""

import re


def test_a_job_that_is_cancelled_while_it_samples_goes_on(trained, cluster, undisturbed):
    run, number = trained.start_held(trained.PART)
    before = trained.cells()
    cluster.run("scancel", number)
    trained.go()
    said = run.end()
    assert len(trained.submitted(said, "sample_heads")) == 2
    assert all(path.stat().st_mtime_ns == when for path, when in before.items()), (
        "finished cells were made again"
    )
    trained.check(undisturbed, trained.PART)


def test_a_job_killed_for_memory_gets_more(trained, cluster, undisturbed):
    """The cost model is made to promise far too little: three times as much is enough."""
    trained.edit("src/rllc/study/sampling.py", "memory = 900 +", "memory = 260 +")
    said = trained.snakemake(trained.PART)
    asked = {n: cluster.job(n)["MinMemoryNode"] for n in trained.submitted(said, "sample_heads")}
    assert len(asked) > 1, said[-3000:]
    assert re.search(
        "ran out of memory: it had asked for 26\\d MB.*set-resources: {sample_heads: {mem_mb: ", said
    )
    assert len(set(asked.values())) > 1, asked
    trained.check(undisturbed, trained.PART)


def test_a_job_out_of_time_gets_more_and_goes_on(trained, cluster, undisturbed):
    # Slurm's shortest limit is a minute, and it looks every thirty seconds: one checkpoint fits, two do not.
    trained.slow(45)
    trained.edit("src/rllc/study/limits.py", "limit = max(10,", "limit = max(1,")
    said = trained.snakemake(trained.PART)
    jobs = {n: cluster.job(n) for n in trained.submitted(said, "sample_heads")}
    assert "ran out of time: it had asked for 1 minutes" in said
    assert {"TIMEOUT", "COMPLETED"} == {job["JobState"] for job in jobs.values()}
    assert {"00:01:00", "00:02:00"} <= {job["TimeLimit"] for job in jobs.values()}
    trained.check(undisturbed, trained.PART)


def test_slurmd_may_die_and_come_back(trained, cluster, undisturbed):
    run, _ = trained.start_held(trained.PART)
    cluster.stop_slurmd()
    cluster.start_slurmd()
    trained.go()
    assert len(trained.submitted(run.end(), "sample_heads")) == 1
    trained.check(undisturbed, trained.PART)


def test_no_job_runs_under_code_that_it_was_not_planned_with(trained, cluster, undisturbed):
    """Source edited while jobs wait in the queue."""
    cluster.run("scontrol", "update", "PartitionName=cpu", "State=DOWN")
    try:
        run = trained.start(trained.PART, "--retries", "0")
        cluster.wait_for(trained.SAMPLING, "PENDING", folder=str(trained.root))
        trained.edit("src/rllc/estimator/samplers/sgld.py", "\ndef ", "\nMORE = 1\n\n\ndef ")
    finally:
        cluster.run("scontrol", "update", "PartitionName=cpu", "State=UP")
    said = run.end(check=False)
    assert "the source changed after this job was planned" in said
    assert not list((trained.root / trained.PARTS).rglob("*.nc"))
    trained.snakemake(trained.PART)
    trained.check(undisturbed, trained.PART)


def test_jobs_keep_the_config_they_were_planned_with(trained, cluster, undisturbed):
    """An overlay edited while jobs wait in the queue is the next run's."""
    cluster.run("scontrol", "update", "PartitionName=cpu", "State=DOWN")
    overlay = (trained.root / "config/tiny.yaml").read_text()
    try:
        run = trained.start(trained.PART)
        cluster.wait_for(trained.SAMPLING, "PENDING", folder=str(trained.root))
        trained.edit("config/tiny.yaml", "draws: 8", "draws: 7")
    finally:
        cluster.run("scontrol", "update", "PartitionName=cpu", "State=UP")
    run.end()
    trained.check(undisturbed, trained.PART)
    trained.write("config/tiny.yaml", overlay)
    assert "Nothing to be done" in trained.snakemake(trained.PART)


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
        said = trained.snakemake(trained.PART, "--retries", "0", check=False)
        assert "No space left on device" in said or "the disk is full" in said
        cluster.run("rm", f"{results}/ballast")
        trained.snakemake(trained.PART)
        cluster.run("cp", "-a", f"{results}/language", str(kept))
    finally:
        cluster.cancel_all()
        cluster.run("umount", "-l", str(results))
    results.rmdir()
    kept.rename(results)
    trained.check(undisturbed, trained.PART)


def test_a_job_that_slurm_puts_back_in_the_queue_goes_on(trained, cluster, undisturbed):
    """Preemption, or a node that fails: the same job starts again and resumes at the next cell."""
    run, number = trained.start_held(trained.PART)
    before = trained.cells()
    cluster.requeue(number)
    trained.go()
    said = run.end()
    assert len(trained.submitted(said, "sample_heads")) == 1
    assert cluster.job(number)["Restarts"] == "1"
    assert {path: path.stat().st_mtime_ns for path in before} == before
    trained.check(undisturbed, trained.PART)
