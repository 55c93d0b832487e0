"""Slurm itself fails: nothing is waited for in vain, nothing is written twice, the numbers are the same."""

import pytest

SOON = (
    "--rllc-slurm-init-seconds-before-status-checks",
    "3",
)  # the profile's 20 s, three times, are a minute


@pytest.mark.parametrize("forgetful", [False, True])
def test_the_controller_is_away_and_comes_back(trained, cluster, undisturbed, forgetful):
    """Of two jobs one ends meanwhile. A controller that lost its state knows neither, and ends the other."""
    trained.hold("0 < step < 20", "go first")
    trained.hold("step > 32")
    run = trained.start(trained.RLLC, *SOON)
    trained.wait_for(lambda: len(trained.cells()) == 2)
    first, second = (
        cluster.wait_for(f"{trained.SAMPLING}_wildcards_language_rllc_0_code_{start}", "RUNNING")
        for start in (0, 20)
    )
    cluster.stop_slurmctld()
    try:
        trained.go("go first")
        log = trained.root / f".snakemake/slurm_logs/rule_sample_heads/language_rllc_0_code_0/{first}.log"
        trained.wait_for(lambda: "(100%) done" in log.read_text(), 300)
        trained.wait_for(lambda: "Slurm does not answer" in run.said(), 300)
    finally:
        cluster.start_slurmctld(forgetful=forgetful)
    trained.wait_for(lambda: "Slurm answers again" in run.said(), 300)
    if forgetful:
        trained.wait_for(lambda: f"Slurm no longer knows job {second}" in run.said(), 300)
    trained.go()
    said = run.end(seconds=300)
    assert len(trained.submitted(said, "sample_heads")) == (3 if forgetful else 2)
    assert (f"Slurm no longer knows job {first}, but it came to its end" in said) == forgetful
    trained.check(undisturbed)


# In sbatch's place, the first time for each of the two jobs: it reports a timeout, although one job is
# submitted, and the other will be later.
SBATCH = """#!/bin/sh
here=$(dirname "$0")
case "$*" in *code_20*) job=late ;; *) job=now ;; esac
mkdir "$here/$job" 2>/dev/null || exec /usr/bin/sbatch "$@"
cat > "$here/$job/script"
if [ $job = now ]; then /usr/bin/sbatch "$@" < "$here/$job/script" > /dev/null
else (until [ -e "$here/arrive" ]; do sleep 0.2; done; /usr/bin/sbatch "$@" < "$here/$job/script") > /dev/null 2>&1 &
fi
echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2
exit 1
"""


def test_a_job_that_was_submitted_after_all_is_no_second_writer(trained, login, cluster, undisturbed):
    programs = trained.root / "programs"
    trained.write("programs/sbatch", SBATCH)
    (programs / "sbatch").chmod(0o755)
    trained.hold("step > 32")
    program = ("env", f"PATH={programs}:{login.environment()['PATH']}", *login.IMPATIENT)
    run = trained.start(trained.RLLC, *SOON, program=program)
    jobs = {
        start: cluster.wait_for(f"{trained.SAMPLING}_wildcards_language_rllc_0_code_{start}", state)
        for start, state in ((0, "COMPLETED"), (20, "RUNNING"))
    }
    trained.wait_for(trained.cells)
    (programs / "arrive").touch()
    late = cluster.wait_for(f"{trained.SAMPLING}_wildcards_language_rllc_0_code_20", "FAILED")
    log = trained.root / f".snakemake/slurm_logs/rule_sample_heads/language_rllc_0_code_20/{late}.log"
    assert "this job was submitted twice" in log.read_text()
    trained.go()
    said = run.end(seconds=300)
    assert f"had been submitted after all, with SLURM jobid {jobs[0]}" in said
    assert sorted(trained.submitted(said, "sample_heads")) == sorted(jobs.values())
    trained.check(undisturbed)


def test_what_passes_within_a_minute_uses_up_no_attempt(trained, cluster, undisturbed):
    """A partition that takes no jobs, then results that cannot be written."""
    results = str(trained.root / "results")
    cluster.run("scontrol", "update", "PartitionName=cpu", "State=INACTIVE")
    try:
        run = trained.start(trained.PART, *SOON, "--retries", "1")
        trained.wait_for(lambda: "could not be submitted" in run.said(), 300)
        cluster.run("mount", "--bind", results, results)
        cluster.run("mount", "-o", "remount,ro,bind", results)
    finally:
        cluster.run("scontrol", "update", "PartitionName=cpu", "State=UP")
    trained.wait_for(lambda: "cannot be written: waiting until it can" in run.said(), 300)
    cluster.run("mount", "-o", "remount,rw,bind", results)
    assert "is submitted again in 3 s: what failed may have passed" in run.end(seconds=300)
    cluster.run("umount", "-l", results)
    trained.check(undisturbed, trained.PART)
