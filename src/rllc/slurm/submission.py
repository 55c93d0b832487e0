"""Submission to Slurm that neither gives up at once nor submits a job twice.

The plugin (2.8.0) takes an `sbatch` that reports a timeout for one that submitted nothing, and submits anew
at once what failed, so that a minute without a partition or a file system uses up every attempt.
"""

import contextlib
import logging
import re
import shlex
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import snakemake_executor_plugin_slurm as plugin
from snakemake_executor_plugin_slurm.utils import get_job_wildcards
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface

from rllc.slurm import failure_reason, output_lock
from rllc.slurm.queue import Unanswered, states
from rllc.slurm.signals import interrupt_children

PATIENCE = 24 * 3600  # seconds for which a submission is tried again
LONGEST = 600  # seconds between two tries, at most


class Submission(plugin.Executor):
    """The plugin's executor; each job claims its output, and what may pass is waited for."""

    # Snakemake's interfaces leave out what is used here: `executor_settings` and `warning`.
    workflow: Any
    logger: logging.Logger

    def begin_submissions(self) -> None:
        """What the plugin's executor lacks."""
        self._since = datetime.now()
        self._interval: int = self.workflow.executor_settings.init_seconds_before_status_checks
        self._submitted: set[str] = set()  # numbers
        self._refused: dict[JobExecutorInterface, float] = {}  # -> since when sbatch refuses it
        self._pauses: dict[JobExecutorInterface, float] = {}  # -> seconds before it is submitted again
        self._timers: list[threading.Timer] = []

    # Snakemake's has no annotation, so pyright takes its "" for the only value.
    def get_job_exec_prefix(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, job: JobExecutorInterface
    ) -> str:
        """What a job does first: it claims its output, or does not begin."""
        claims = output_lock.folder(job.output)
        word = output_lock.submit(claims)
        return shlex.join([self.get_python_executable(), "-m", output_lock.__name__, str(claims), word])

    def _submit_job(self, job: JobExecutorInterface) -> None:
        """At once, or after a pause where it failed for a cause that may pass."""
        self.run_job_pre(job)
        pause = self._pauses.pop(job, 0)
        if pause:
            self.logger.info(
                f"Job {job.jobid} is submitted again in {pause:.0f} s: what failed may have passed."
            )
        self._later(pause, self.run_job, job)

    def _report_job_submission_threadsafe(self, job_info: SubmittedJobInfo) -> None:
        self._submitted.add(number(job_info))
        self._refused.pop(job_info.job, None)
        super()._report_job_submission_threadsafe(job_info)

    def _report_job_error_threadsafe(self, job_info: SubmittedJobInfo, msg: str) -> None:
        """A submission failed. One whose cause may pass is no attempt of the job."""
        job = job_info.job
        waited = time.monotonic() - self._refused.setdefault(job, time.monotonic())
        said = re.search("The error message was '(.*?)'[.]\n", msg, re.DOTALL)
        error = " ".join((said[1] if said else msg).split())
        if not failure_reason.passing(error) or waited > PATIENCE:
            del self._refused[job]
            super()._report_job_error_threadsafe(job_info, msg)
            return
        pause = min(max(self._interval, waited), LONGEST)
        self.logger.warning(
            f"Job {job.jobid} could not be submitted ({error}). "
            f"That may pass: next try in {pause:.0f} s, and so on for {PATIENCE // 3600} hours."
        )
        self._later(pause, self._submit_again, job)

    def _submit_again(self, job: JobExecutorInterface) -> None:
        """Unless Slurm took the job when it reported that it did not."""
        try:
            told = states("squeue", self.run_uuid, self._since).values()
        except Unanswered:
            self._later(self._interval, self._submit_again, job)
            return
        except Exception as error:  # in this thread nobody else would see it, and the run would wait
            super()._report_job_error_threadsafe(SubmittedJobInfo(job), f"{type(error).__name__}: {error}")
            return
        ours = [one for one in told if one.comment == comment(job) and one.number not in self._submitted]
        if not ours:
            self.run_job(job)
            return
        found = ours[0].number
        log = self.slurm_logdir / f"rule_{job.name}" / get_job_wildcards(job) / f"{found}.log"
        self.logger.info(
            f"Job {job.jobid} had been submitted after all, with SLURM jobid {found} (log: {log})."
        )
        info = SubmittedJobInfo(job, external_jobid=found, aux={"slurm_logfile": log})
        self._report_job_submission_threadsafe(info)

    def _later(self, pause: float, call: Callable[..., None], job: JobExecutorInterface) -> None:
        """Call in a thread of submission, after a pause; never once the run ends."""

        def submit() -> None:
            with contextlib.suppress(RuntimeError):  # shut down
                self._job_submission_executor.submit(call, job)

        if not pause:
            submit()
            return
        timer = threading.Timer(pause, submit)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def cancel(self) -> None:
        """Submit nothing more, end what runs here, cancel the jobs of the cluster."""
        for timer in self._timers:
            timer.cancel()
        self._job_submission_executor.shutdown(wait=True, cancel_futures=True)
        interrupt_children()
        try:
            super().cancel()
        except WorkflowError as error:  # what is left is the hook's (`onerror`)
            self.logger.warning(str(error))
            self.shutdown()

    def shutdown(self) -> None:
        """As the plugin's; a job that Slurm was given without saying so does not begin any more."""
        super().shutdown()
        output_lock.withdraw()


def number(info: SubmittedJobInfo) -> str:
    """Slurm's number of a job that it has taken."""
    assert info.external_jobid is not None
    return info.external_jobid


def comment(job: JobExecutorInterface) -> str:
    """What the plugin tells Slurm of a job."""
    wildcards = get_job_wildcards(job)
    return f"rule_{job.name}_wildcards_{wildcards}" if wildcards else f"rule_{job.name}"
