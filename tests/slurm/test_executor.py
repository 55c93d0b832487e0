import asyncio
import sys
import time
from types import SimpleNamespace

import pytest
import snakemake_executor_plugin_slurm as plugin
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

from rllc.slurm import executor, output_lock
from rllc.slurm.executor import Executor
from rllc.slurm.failure_reason import FINISHED
from rllc.slurm.queue import StatusSource, Unanswered
from rllc.slurm.submission import comment


def begins(monkeypatch, *, jobs=1, array_jobs=None, answers=True):
    """An executor whose run begins, on a cluster that answers or not; and what it said."""

    def status_source(command, first_check):
        assert (command, first_check) == ("squeue", 20)
        if not answers:
            raise Unanswered("Slurm does not answer (away)")
        return StatusSource(("squeue",), "Slurm: state of jobs by squeue.")

    def init(made, workflow, logger):
        """As the plugin's: its thread looks for ended jobs before the last lines of the constructor."""
        made.workflow, made.logger = workflow, logger
        thread = asyncio.run(anext(made.check_active_jobs([]), None))
        assert thread is None and made.next_seconds_between_status_checks == 20
        made.__post_init__()

    said = []
    monkeypatch.setattr(executor, "status_source", status_source)
    monkeypatch.setattr(plugin.Executor, "__init__", init)
    monkeypatch.setattr(plugin.Executor, "__post_init__", lambda made, test_mode: said.append("plugin"))
    settings = SimpleNamespace(
        init_seconds_before_status_checks=20, status_command="squeue", array_jobs=array_jobs
    )
    workflow = SimpleNamespace(executor_settings=settings, dag=range(jobs))
    return Executor(workflow, SimpleNamespace(info=said.append)), said


def test_a_run_says_how_it_will_learn_of_the_end_of_jobs(monkeypatch):
    made, said = begins(monkeypatch)
    assert said == ["Slurm: state of jobs by squeue.", "plugin"]
    assert made._source.commands == ("squeue",)


def test_a_run_whose_cluster_does_not_answer_is_refused_if_it_has_jobs(monkeypatch):
    with pytest.raises(WorkflowError, match="does not answer"):
        begins(monkeypatch, answers=False)
    assert begins(monkeypatch, jobs=0, answers=False)[1] == ["plugin"]


def test_settings_that_would_be_ignored_are_refused_before_slurm_is_asked(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["snakemake", "--slurm-qos", "long"])
    with pytest.raises(WorkflowError, match=r"Put rllc- before these.*: slurm-qos$"):
        begins(monkeypatch, answers=False)


def test_another_version_of_the_plugin_is_refused(monkeypatch):
    monkeypatch.setattr(executor, "VERSION", "0.1")
    with pytest.raises(WorkflowError, match=r"is 2.8.0 here.*made for 0.1: install that"):
        begins(monkeypatch)


def test_arrays_are_refused(monkeypatch):
    with pytest.raises(WorkflowError, match="rllc-slurm-array-jobs can wait for ever"):
        begins(monkeypatch, array_jobs="all")


class Job:
    """What the executor reads of one of Snakemake's jobs."""

    name, log, jobid, attempt, resources = "attention_scores", (), 1, 1, {"mem_mb": 900, "runtime": 10}

    def __init__(self, folder, *wildcards):
        self.wildcards, self.output = wildcards, [folder / f"{'_'.join(wildcards)}.nc"]


class Watch:
    """An executor with its jobs and a cluster that answers as it is told; time stands still but for ``passes``."""

    def __init__(self, folder, monkeypatch, *, commands=("squeue",), keep_logs=False):
        self.folder, self.now, self.said, self.ended, self.asked = folder, 0.0, [], [], []
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        monkeypatch.chdir(folder)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        made = self.executor = object.__new__(Executor)
        settings = SimpleNamespace(keep_successful_logs=keep_logs)
        made.workflow = SimpleNamespace(executor_settings=settings)
        made.logger = SimpleNamespace(info=self.said.append, warning=self.said.append)
        made.run_uuid, made.next_seconds_between_status_checks = "run", 20
        made.report_job_success = lambda info: self.ended.append((info.external_jobid, "well"))
        made.report_job_error = lambda info, msg, aux_logs: self.ended.append((info.external_jobid, msg))
        made.begin(20)
        made._source = StatusSource(commands, "")
        self.jobs = {number: self.submitted(number, which) for number, which in (("7", "a"), ("8", "b"))}

    def submitted(self, number, *wildcards):
        log = self.folder / f"{number}.log"
        log.touch()
        return SubmittedJobInfo(
            Job(self.folder, *wildcards), external_jobid=number, aux={"slurm_logfile": log}
        )

    def answers(self, program, output):
        """What a program says from now on; None: it fails."""
        (self.folder / program).write_text(
            "#!/bin/sh\necho away >&2\nexit 1\n"
            if output is None
            else f"#!/bin/sh\ncat <<'END'\n{output}END\n"
        )
        (self.folder / program).chmod(0o755)

    def squeue(self, **states):
        """State, or state and reason, of jobs 7 and 8, called a and b; one left out is not known."""
        rows = {"7": states.get("a"), "8": states.get("b")}
        self.answers(
            "squeue",
            "".join(
                f"{number}|{state.partition(' ')[0]}|{state.partition(' ')[2] or 'None'}|"
                f"{comment(self.jobs[number].job)}\n"
                for number, state in rows.items()
                if state
            ),
        )

    def passes(self, seconds=0.0):
        """Ask once, ``seconds`` later: the numbers of the jobs still under way."""
        self.now += seconds

        async def ask():
            left = [info for info in self.jobs.values() if info.external_jobid not in dict(self.ended)]
            return [info.external_jobid async for info in self.executor.check_active_jobs(left)]

        return asyncio.run(ask())


@pytest.fixture
def watch(tmp_path, monkeypatch):
    return Watch(tmp_path, monkeypatch)


def test_jobs_are_reported_as_they_end_and_asked_for_ever_less_often(watch):
    watch.squeue(a="RUNNING", b="PENDING")
    for expected in (30, 40, *range(50, 180, 10), 180, 180):
        assert watch.passes() == ["7", "8"]
        assert watch.executor.next_seconds_between_status_checks == expected
    claims = output_lock.folder(watch.jobs["7"].job.output)
    output_lock.submit(claims)
    watch.squeue(a="COMPLETED", b="RUNNING")
    assert watch.passes() == ["8"]
    assert watch.executor.next_seconds_between_status_checks == 20
    assert not claims.exists() and not (watch.folder / "7.log").exists()
    watch.squeue(a="COMPLETED", b="OUT_OF_MEMORY")
    assert watch.passes() == []
    assert watch.ended[0] == ("7", "well") and "ran out of memory" in watch.ended[1][1]
    assert not watch.said and (watch.folder / "8.log").exists()


def test_one_failing_call_of_slurms_programs_ends_and_forgets_nothing(watch):
    """`scontrol` fails all the time, and `squeue` once: the plugin would ask a database that is not there."""
    watch.answers("scontrol", None)
    watch.answers("sacct", None)
    watch.answers("squeue", None)
    assert watch.passes() == ["7", "8"]
    assert watch.executor.next_seconds_between_status_checks == 20
    assert watch.passes(600) == watch.passes(1) == watch.passes(599) == ["7", "8"]
    watch.squeue(a="COMPLETED", b="COMPLETED")
    assert watch.passes(30) == watch.passes() == []
    assert dict(watch.ended) == {"7": "well", "8": "well"}
    first, reminder, last = watch.said
    assert "Slurm does not answer (squeue: away). The 2 jobs under way may well go on" in first
    assert reminder.startswith("Slurm has not answered for 10 minutes (squeue: away)")
    assert last == "Slurm answers again, after 1230 s."


@pytest.mark.parametrize(("made", "finished"), [(True, True), (True, False), (False, True)])
def test_a_job_that_slurm_forgot_is_settled_by_what_it_left(watch, made, finished):
    """At once where it came to its end and made its files, else after three times the interval."""
    watch.squeue(b="RUNNING")
    if made:
        watch.jobs["7"].job.output[0].touch()
    if finished:
        (watch.folder / "7.log").write_text(FINISHED)
    at_once = made and finished
    assert watch.passes() == (["8"] if at_once else ["7", "8"])
    assert watch.executor.next_seconds_between_status_checks == 20
    assert watch.passes(59) == (["8"] if at_once else ["7", "8"])
    assert watch.passes(1) == ["8"]
    ((number, how),) = watch.ended
    assert number == "7" and (how == "well" if at_once else "did not come to its end" in how)
    assert watch.executor._pauses == ({} if at_once else {watch.jobs["7"].job: 20})


def test_a_node_that_fails_is_doubted_until_slurm_puts_the_job_back(watch):
    watch.squeue(a="NODE_FAIL", b="RUNNING")
    assert watch.passes() == watch.passes(59) == ["7", "8"]
    watch.squeue(a="PENDING", b="RUNNING")
    assert watch.passes(1) == ["7", "8"]
    watch.squeue(a="NODE_FAIL", b="RUNNING")
    assert watch.passes(1) == watch.passes(59) == ["7", "8"]
    assert watch.passes(1) == ["8"] and "ended as NODE_FAIL" in watch.ended[0][1]


def test_a_pause_grows_with_the_attempts_and_only_before_what_may_pass(watch):
    watch.jobs["7"].job.attempt = 3
    watch.squeue(a="FAILED", b="TIMEOUT")
    assert watch.passes() == []
    assert watch.executor._pauses == {watch.jobs["7"].job: 180}


def test_a_number_that_is_another_jobs_by_now_and_a_job_that_is_held(watch):
    watch.answers("squeue", "7|COMPLETED|None|rule_other\n8|PENDING|JobHeldUser|(null)\n")
    assert watch.passes() == watch.passes() == ["7", "8"]
    (said,) = watch.said
    assert "Slurm holds job 8 back (JobHeldUser)" in said and not watch.ended


def test_what_one_command_does_not_know_the_next_is_asked(tmp_path, monkeypatch):
    watch = Watch(tmp_path, monkeypatch, commands=("sacct", "squeue"), keep_logs=True)
    watch.answers("sacct", "7|COMPLETED|None\n")
    watch.squeue(a="RUNNING", b="CANCELLED")
    assert watch.passes() == []
    assert watch.ended[0] == ("7", "well") and "CANCELLED" in watch.ended[1][1]
    assert (tmp_path / "7.log").exists() and not watch.executor._pauses


def test_an_end_waits_until_its_folder_can_be_written_to(watch, monkeypatch):
    closed = watch.folder
    monkeypatch.setattr(executor, "closed", lambda files: closed)
    watch.squeue(a="COMPLETED", b="RUNNING")
    assert watch.passes() == watch.passes() == ["7", "8"]
    assert watch.said == [f"{watch.folder} cannot be written: waiting until it can."]
    closed = None
    assert watch.passes() == ["8"]


@pytest.mark.parametrize(("ends", "slept"), [(None, 20.0), (3.0, 3.0)])
def test_a_pause_between_two_looks_ends_in_time_or_with_the_run(tmp_path, monkeypatch, ends, slept):
    watch = Watch(tmp_path, monkeypatch)
    watch.executor.wait = True

    async def passes(seconds):
        watch.now += seconds
        if watch.now == ends:
            watch.executor.wait = False
        assert watch.now < 60

    monkeypatch.setattr(asyncio, "sleep", passes)
    asyncio.run(watch.executor.sleep())
    assert watch.now == slept
