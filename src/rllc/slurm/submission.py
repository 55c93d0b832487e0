"""Submission to Slurm with retries, which never lets a job run twice.

If `sbatch` reports a timeout, the plugin (2.8.0) assumes that nothing was submitted. It also retries a failed
submission at once, so a minute without a partition or a file system uses up every attempt.
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

PATIENCE = 24 * 3600  # seconds during which a submission is retried
LONGEST_PAUSE = 600  # largest number of seconds between two tries


class Submission(plugin.Executor):
    """The plugin's executor, with locks of outputs and with retries after errors that may pass."""

    # Snakemake's interfaces do not declare two names used here: `executor_settings` and `warning`.
    workflow: Any
    logger: logging.Logger

    def begin_submissions(self, interval: int) -> None:
        """Set up the state that the plugin's executor lacks.

        interval  seconds before the first status check, between checks in an outage, and before a retry
        """
        self._since = datetime.now()
        self._interval = interval
        self._submitted: set[str] = set()  # numbers
        self._refused: dict[JobExecutorInterface, float] = {}  # -> the time of sbatch's first refusal
        self._pauses: dict[JobExecutorInterface, float] = {}  # -> seconds before it is submitted again
        self._timers: list[threading.Timer] = []

    # Snakemake's has no annotation, so pyright takes its "" for the only value.
    def get_job_exec_prefix(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, job: JobExecutorInterface
    ) -> str:
        """Return the command before a job, which locks the job's output or stops the job."""
        claims = output_lock.folder(job.output)
        word = output_lock.submit(claims)
        return shlex.join([self.get_python_executable(), "-m", output_lock.__name__, str(claims), word])

    def _submit_job(self, job: JobExecutorInterface) -> None:
        """Submit a job: at once, or after a pause if it failed for a cause that may pass."""
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
        """Handle a failed submission. It does not count as an attempt of the job if the cause may pass."""
        job = job_info.job
        waited = time.monotonic() - self._refused.setdefault(job, time.monotonic())
        said = re.search("The error message was '(.*?)'[.]\n", msg, re.DOTALL)
        error = " ".join((said[1] if said else msg).split())
        if not failure_reason.passing(error) or waited > PATIENCE:
            del self._refused[job]
            super()._report_job_error_threadsafe(job_info, msg)
            return
        pause = min(max(self._interval, waited), LONGEST_PAUSE)
        self.logger.warning(
            f"Job {job.jobid} could not be submitted ({error}). "
            f"That may pass: next try in {pause:.0f} s, and so on for {PATIENCE // 3600} hours."
        )
        self._later(pause, self._submit_again, job)

    def _submit_again(self, job: JobExecutorInterface) -> None:
        """Submit a job again, unless Slurm accepted it while it reported an error."""
        try:
            told = states("squeue", self.run_uuid, self._since).values()
        except Unanswered:
            self._later(self._interval, self._submit_again, job)
            return
        except Exception as error:  # an error in this thread would be lost, and the run would wait for ever
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
        """Call a function in a thread of submission after a pause, unless the run has ended."""

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
        """Stop submission, end jobs on this machine, and cancel the jobs of the cluster."""
        for timer in self._timers:
            timer.cancel()
        self._job_submission_executor.shutdown(wait=True, cancel_futures=True)
        interrupt_children()
        try:
            super().cancel()
        except WorkflowError as error:  # the hook `onerror` cancels the rest
            self.logger.warning(str(error))
            self.shutdown()

    def shutdown(self) -> None:
        """Shut down as the plugin does. A job that Slurm accepted without a report refuses to start."""
        super().shutdown()
        output_lock.withdraw()


def number(info: SubmittedJobInfo) -> str:
    """Return Slurm's number of an accepted job."""
    assert info.external_jobid is not None
    return info.external_jobid


def comment(job: JobExecutorInterface) -> str:
    """Return the comment that the plugin gives a job in Slurm."""
    wildcards = get_job_wildcards(job)
    return f"rule_{job.name}_wildcards_{wildcards}" if wildcards else f"rule_{job.name}"
