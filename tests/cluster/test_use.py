"""What a user does beside running: GPUs, a look at the state, results so far, odd names."""

import re
import shutil
import subprocess
import sys

import pytest
import xarray as xr

FIGURE = "results/tiny/figures/rllc_fig2_wrllc_by_head.png"


def status(login, study):
    """What `make status` prints, as rows of words."""
    done = subprocess.run(
        study.cluster.command(sys.executable, "workflow/status.py", *study.overlays, folder=study.root),
        env=login.environment(), capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


def counts(said, rule):
    """done, running, queued, failed, missing of a stage."""
    (row,) = [line.split() for line in said.splitlines() if line.split()[1:2] == [rule]]
    return [0 if count == "." else int(count) for count in row[2:]]


def sampling_jobs(study, said):
    """What Slurm was asked for by the sampling jobs that a run submitted."""
    return [study.cluster.job(number) for number in study.submitted(said, "sample_heads")]


def test_a_gpu_is_asked_for_where_the_config_gives_one_and_not_otherwise(trained):
    gpu = trained.write("config/gpu_here.yaml", {"compute": {"device": "cuda", "gpu_jobs": ["sample_heads"]}})
    cpu = trained.write("config/cpu_here.yaml", {"compute": {"device": "cpu"}})
    elsewhere = ("--set-resources", "sample_heads:slurm_partition=gpu", "--retries", "0")
    # Pretended GPUs compute nothing.
    said = trained.snakemake(trained.PART, *elsewhere, overlays=(gpu,), check=False)
    assert "GPU hours" in said
    jobs = sampling_jobs(trained, said)
    assert len(jobs) == 1
    for job in jobs:
        assert (job["Partition"], job["TresPerJob"]) == ("gpu", "gres:gpu:1")
    assert "device is cuda" in said or "CUDA" in said
    said = trained.snakemake(trained.PART, overlays=(gpu, cpu))
    jobs = sampling_jobs(trained, said)
    assert len(jobs) == 1
    assert not [job for job in jobs if "TresPerJob" in job]


@pytest.mark.parametrize(
    ("flags", "cure"),
    [
        (("--rllc-slurm-status-command", "sacct"), "Set rllc-slurm-status-command: squeue in the profile"),
        (
            ("--rllc-slurm-init-seconds-before-status-checks", "2000"),
            "Lower rllc-slurm-init-seconds-before-status-checks",
        ),
    ],
)
def test_it_does_not_wait_for_ever(trained, cluster, flags, cure):
    before = set(cluster.jobs())
    said = trained.snakemake(trained.RLLC, *flags, check=False, seconds=300)
    assert "would wait for ever" in said
    assert cure in said
    assert set(cluster.jobs()) == before


def test_a_profile_that_takes_snakemakes_own_executor_is_told_what_to_write(trained, login, cluster):
    before = set(cluster.jobs())
    trained.write("mine/config.yaml", "executor: slurm\njobs: 2\nslurm-no-account: true\n")
    mine, ours = ("--profile", "mine"), ("--executor", "rllc-slurm")
    for how, told in (
        (mine, "executor: rllc-slurm` in your profile.*Rename these: slurm-no-account"),
        ((*mine, *ours), "Put rllc- before these.*: slurm-no-account"),
    ):
        said = trained.snakemake(trained.PART, how=how, program=login.SNAKEMAKE, check=False, seconds=300)
        assert re.search(told, " ".join(said.split())), said[-3000:]
    assert set(cluster.jobs()) == before


def test_what_sbatch_refuses_is_said_in_its_own_words(trained, cluster):
    before = set(cluster.jobs())
    said = trained.snakemake(trained.RLLC, "--default-resources", "slurm_partition=nowhere", check=False)
    assert "invalid partition specified: nowhere" in said
    assert set(cluster.jobs()) == before


def test_status_and_partial_results_while_the_cluster_works(trained, login, cluster):
    """One part finished, one running; then one failed."""
    trained.hold("step > 20")
    run = trained.start(FIGURE, "--retries", "0")
    number = cluster.wait_for(
        f"{trained.SAMPLING}_wildcards_language_rllc_0_code_20", "RUNNING", folder=str(trained.root)
    )
    first = trained.root / "results/tiny/language/parts/rllc/seed0.code.from0.nc"
    trained.wait_for(first.is_file)
    # The first is finished once the main process has heard of it.
    trained.wait_for(lambda: counts(status(login, trained), "sample_heads") == [1, 1, 0, 0, 0])
    said = status(login, trained)
    assert counts(said, "train") == [2, 0, 0, 0, 0]
    assert counts(said, "gather") == [0, 0, 0, 0, 1]
    assert re.search(rf"job {number} +sample_heads .*start=20 +results/tiny/logs/sample_heads/\S+\.log", said)

    trained.snakemake("--nolock", "partial", how=trained.LOCAL)
    there = trained.dataset("results/tiny/partial/language/rllc.nc")
    whole = there["rllc"].isel(seed=0).notnull().all(["head", "distribution"])
    assert whole.sel(step=[0, 4, 8, 16]).all()
    assert not there["rllc"].sel(step=[32, 60]).notnull().any()
    assert (there["status"].sel(step=[32, 60]) == 3).all()
    caption = (trained.root / "results/tiny/partial/figures/rllc_fig2_wrllc_by_head.txt").read_text()
    assert caption.startswith("Unfinished: rllc.nc holds 4 of 6 cells of seed, step, distribution")

    cluster.run("scancel", number)
    run.end(check=False)
    said = status(login, trained)
    assert counts(said, "sample_heads") == [1, 0, 0, 1, 0]
    assert re.search(rf"failed:\n  job {number} +sample_heads ", said)
    trained.write("go", "")
    trained.snakemake(FIGURE, how=trained.LOCAL)
    assert counts(status(login, trained), "sample_heads") == [2, 0, 0, 0, 0]


def test_names_with_spaces_and_semicolons(trained, folder, login, cluster, undisturbed):
    """Of the folder and of the overlay; nothing in them is run."""
    root, overlay = folder / "a b; touch pwned; (c) & #", "config/a b; touch pwned | 1 > 2.yaml"
    trained.root.rename(root)
    (root / "config/tiny.yaml").rename(root / overlay)
    study = login.Login(root, cluster, login.CI, overlay)
    try:
        study.snakemake(trained.PART)
        xr.testing.assert_identical(study.dataset(trained.PART), undisturbed.dataset(trained.PART))
        assert not list(folder.rglob("pwned*"))
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize("name", ["it's $(touch pwned)", 'a "b" `touch pwned`'])
def test_names_that_snakemake_would_let_a_shell_read_are_refused(trained, folder, login, cluster, name):
    root = folder / name
    trained.root.rename(root)
    before = set(cluster.jobs())
    try:
        said = login.Login(root, cluster, *trained.overlays).snakemake(trained.RLLC, check=False)
        assert "cannot be passed to a job of the cluster" in said
        assert "Rename it" in said
        assert set(cluster.jobs()) == before
        assert not list(folder.rglob("pwned*"))
    finally:
        shutil.rmtree(root)


def test_a_token_is_written_nowhere(undisturbed, trained, login):
    """Neither of the local run nor of a cluster's, not even in the plan or in Snakemake's own logs."""
    trained.snakemake(trained.PART, "--verbose")
    for study in (undisturbed, trained):
        for path in study.root.rglob("*"):
            if path.is_file():
                assert login.TOKEN.encode() not in path.read_bytes(), path
