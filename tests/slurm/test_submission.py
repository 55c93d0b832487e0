"""What surrounds the plugin's submission, with a cluster that answers as it is told."""

import time
from types import SimpleNamespace

import pytest
import snakemake_executor_plugin_slurm as plugin
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

from rllc.slurm import output_lock, submission
from rllc.slurm.queue import Job, Unanswered
from rllc.slurm.submission import Submission, comment

PASSES = "The error message was 'sbatch: error: Socket timed out'.\n"


class Run(SimpleNamespace):
    """A submission and what it did: jobs run, reported, failed; calls put off, with their pauses."""

    def fails(self, seconds=0.0, msg=PASSES):
        self.now += seconds
        self.made._report_job_error_threadsafe(SubmittedJobInfo(self.job), msg)


@pytest.fixture
def run(tmp_path, monkeypatch):
    job = type(
        "Job", (), {"name": "attention_scores", "jobid": 3, "wildcards": ("a", "b"), "output": ["b", "a"]}
    )()
    run = Run(now=100.0, job=job, prepared=[], ran=[], reported=[], failed=[], later=[], told=[])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "monotonic", lambda: run.now)
    monkeypatch.setattr(plugin.Executor, "_report_job_error_threadsafe", lambda _, i, m: run.failed.append(m))
    monkeypatch.setattr(
        plugin.Executor, "_report_job_submission_threadsafe", lambda _, info: run.reported.append(info)
    )

    def states(command, name, since):
        assert (command, name, since) == ("squeue", "run", run.made._since)
        if isinstance(run.told, Exception):
            raise run.told
        return {job.number: job for job in run.told}

    monkeypatch.setattr(submission, "states", states)
    run.made = made = object.__new__(Submission)
    made.logger = SimpleNamespace(info=lambda _: None, warning=lambda _: None)
    made.run_uuid, made.slurm_logdir = "run", tmp_path
    made.run_job, made.run_job_pre = run.ran.append, run.prepared.append
    made.begin_submissions(20)
    made._later = lambda pause, call, job: run.later.append((pause, call, job))
    return run


def test_what_may_pass_is_tried_again_after_ever_longer_pauses_for_a_day(run):
    for seconds in (0, 20, 100, 1000, 24 * 3600 - 1120):
        run.fails(seconds)
    assert [pause for pause, *_ in run.later] == [20, 20, 120, 600, 600]
    assert {(call, job) for _, call, job in run.later} == {(run.made._submit_again, run.job)}
    assert not run.failed
    run.fails(1)
    assert run.failed == [PASSES]
    run.fails()  # a further attempt begins anew
    assert len(run.failed) == 1 and run.later[-1][0] == 20


def test_what_cannot_pass_fails_at_once(run):
    run.fails(msg="The error message was 'sbatch: error: invalid partition specified: nowhere'.\n")
    assert len(run.failed) == 1 and not run.later


def test_the_cause_is_what_the_plugin_quotes_or_else_the_whole_message(run):
    run.fails(
        msg="sbatch --comment 'timed out' failed. The error message was 'sbatch: error: no such account'.\n"
    )
    assert len(run.failed) == 1 and not run.later
    run.fails(msg="sbatch: error: Socket timed\nout")
    assert len(run.failed) == 1 and len(run.later) == 1


def test_a_job_is_submitted_again_unless_slurm_has_it(run):
    mine = comment(run.job)
    assert mine == "rule_attention_scores_wildcards_a_b"
    run.told = Unanswered("away")
    run.made._submit_again(run.job)
    assert run.later == [(20, run.made._submit_again, run.job)] and not run.ran
    run.told = [Job("5", "RUNNING", "rule_attention_scores_wildcards_a_c"), Job("6", "RUNNING", mine)]
    run.made._submitted.add("6")  # an earlier attempt of the same job
    run.made._submit_again(run.job)
    assert run.ran == [run.job] and not run.reported
    run.told.append(Job("7", "PENDING", mine))
    run.fails()
    run.made._submit_again(run.job)
    (info,) = run.reported
    assert (info.job, info.external_jobid) == (run.job, "7") and run.ran == [run.job]
    assert info.aux["slurm_logfile"] == run.made.slurm_logdir / "rule_attention_scores/a_b/7.log"
    assert run.made._submitted == {"6", "7"} and not run.made._refused
    run.told = OSError("no such folder")
    run.made._submit_again(run.job)
    assert run.failed == ["OSError: no such folder"]


def test_a_job_waits_out_its_pause_once(run):
    run.made._pauses[run.job] = 60
    for _ in range(2):
        run.made._submit_job(run.job)
    assert run.later == [(60, run.made.run_job, run.job), (0, run.made.run_job, run.job)]
    assert run.prepared == [run.job, run.job]


def test_every_submission_claims_the_output_anew_and_none_begins_after_the_run(run, monkeypatch):
    run.made.get_python_executable = lambda: "a python"
    monkeypatch.setattr(plugin.Executor, "shutdown", lambda _: None)
    prefix = run.made.get_job_exec_prefix(run.job)
    claims = output_lock.folder(run.job.output)
    word = (claims / output_lock.CURRENT).read_text()
    assert prefix == f"'a python' -m rllc.slurm.output_lock {claims} {word}"
    assert run.made.get_job_exec_prefix(run.job) != prefix
    run.made.shutdown()
    assert not (claims / output_lock.CURRENT).exists()


def test_what_is_put_off_is_called_in_a_thread_of_submission_unless_the_run_ends(run, monkeypatch):
    """A pool that is shut down takes no more; what nobody can cancel any more is the hook's to say."""
    done, timers = [], []

    class Timer:
        def __init__(self, pause, call):
            timers.append(self)
            self.pause, self.call, self.alive = pause, call, False

        def start(self):
            self.alive = True

        def cancel(self):
            self.alive = False

    def shutdown(*, wait, cancel_futures):
        assert wait and cancel_futures
        pool.submit = Failing(RuntimeError("shut down"))

    pool = SimpleNamespace(submit=lambda call, job: done.append(job), shutdown=shutdown)
    monkeypatch.setattr(submission.threading, "Timer", Timer)
    monkeypatch.setattr(submission, "interrupt_children", lambda: done.append("children"))
    monkeypatch.setattr(plugin.Executor, "cancel", Failing(submission.WorkflowError("no answer")))
    monkeypatch.setattr(plugin.Executor, "shutdown", lambda _: done.append("shut down"))
    del run.made._later
    run.made._job_submission_executor = pool
    run.made._later(0, run.made.run_job, "now")
    run.made._later(7, run.made.run_job, "late")
    (timer,) = timers
    assert done == ["now"] and (timer.pause, timer.alive, timer.daemon) == (7, True, True)
    timer.call()
    assert done == ["now", "late"]
    run.made.cancel()
    assert not timer.alive and done[2:] == ["children", "shut down"]
    timer.call()
    assert len(done) == 4


class Failing:
    """In place of a method: it raises."""

    def __init__(self, error):
        self.error = error

    def __call__(self, *_):
        raise self.error
