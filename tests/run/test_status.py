import pytest

from rllc.run.status import PlannedJob, comment, report, stand


@pytest.fixture
def job(tmp_path):
    def made(*, rule="train", needed=True, started=False, log=None):
        path = tmp_path / "a.log"
        if log is not None:
            path.write_text(log)
        return PlannedJob(rule, "language", "seed=0", comment(rule, ["language", "0"]), needed, started, path)

    return made


def stood(job, tmp_path, on_slurm=(), locked=False):
    return stand(job, dict(on_slurm), tmp_path / "slurm_logs", locked=locked)


def slurm_log(tmp_path, *numbers):
    folder = tmp_path / "slurm_logs/rule_train/language_0"
    folder.mkdir(parents=True)
    for number in numbers:
        (folder / f"{number}.log").write_text("killed")


FAILED = "10:00:00 reading\ntrain.py: OSError: No space left on device\n"
ENDED = "10:00:00 reading\n10:00:09 done in 9.1 s\n"


def test_a_job_that_would_not_run_again_is_done(job, tmp_path):
    assert stood(job(needed=False, log=FAILED), tmp_path).state == "done"


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("running", "running"),
        *((waits, "queued") for waits in ("pending", "configuring", "requeued")),
        ("completing", "running"),
    ],
)
def test_slurm_says_which_jobs_run_and_wait(job, tmp_path, state, said):
    standing = stood(job(log=FAILED), tmp_path, {"rule_train_wildcards_language_0": ("17", state)}.items())
    assert (standing.state, standing.number) == (said, "17")


def test_a_job_that_this_machine_runs(job, tmp_path):
    assert stood(job(started=True), tmp_path, locked=True).state == "running"
    assert stood(job(started=True), tmp_path, locked=False).state == "missing"


def test_a_failed_job_has_its_log_and_its_last_number(job, tmp_path):
    slurm_log(tmp_path, 9, 10)
    standing = stood(job(log=FAILED), tmp_path)
    assert (standing.state, standing.number) == ("failed", "10")
    assert standing.log.endswith("a.log")


def test_a_job_that_died_before_it_wrote_a_log_has_failed(job, tmp_path):
    slurm_log(tmp_path, 9)
    standing = stood(job(), tmp_path)
    assert (standing.state, standing.log) == (
        "failed",
        str(tmp_path / "slurm_logs/rule_train/language_0/9.log"),
    )


@pytest.mark.parametrize("log", [None, ENDED])
def test_what_never_ran_or_is_stale_is_missing(job, tmp_path, log):
    assert stood(job(log=log), tmp_path).state == "missing"


def test_the_report_counts_and_lists(job, tmp_path):
    slurm_log(tmp_path, 9)
    failed = stood(job(log=FAILED), tmp_path)
    text = report([failed] * 22 + [stood(job(needed=False), tmp_path)])
    rows = [line.split() for line in text.splitlines()]
    assert rows[1] == ["language", "train", "1", ".", ".", "22", "."]
    assert rows[2] == ["all", "1", ".", ".", "22", "."]
    assert f"  job 9       train seed=0  {tmp_path}/a.log" in text
    assert "... and 2 more" in text
