"""The Slurm plugin's executor, mended: an outage makes no run wait in vain, give up at once, or write twice.

The plugin (2.8.0) forgets every job under way where `squeue` fails five times in a row, which takes 45 ms,
asks a database that is not there where `scontrol` fails once, and waits for ever for a job that Slurm no
longer knows. It takes an `sbatch` that reports a timeout for one that submitted nothing, and submits anew
at once what failed. Settings of the profile cure the first alone, and a program in `squeue`'s place sees
neither outputs nor logs; so what asks for the states of jobs is replaced here, submission is surrounded,
and the rest is the plugin's. ``mend`` refuses other versions of the plugin.
"""

import asyncio
import contextlib
import re
import shlex
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import snakemake_executor_plugin_slurm as plugin
from snakemake_executor_plugin_slurm.utils import get_job_wildcards
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface

from rllc.run import causes, claim
from rllc.run.signals import interrupt_children
from rllc.run.slurm import Job, SlurmError, StatusSource, Unanswered, states

PACKAGE, VERSION = "snakemake-executor-plugin-slurm", "2.8.0"
LONGEST = 180  # seconds between two questions to Slurm, at most, as the plugin's
PATIENCE = 24 * 3600  # seconds for which a submission is tried again
REMINDER = 600  # seconds of an outage after which it is said again
FAILED = {"BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "TIMEOUT"}
# Slurm puts the job back into the queue, or leaves it so: that shows after a while.
DOUBTFUL = {"NODE_FAIL", "PREEMPTED", "REVOKED"}


class Executor(plugin.Executor):
    """Asks until Slurm answers, says so, and settles jobs that Slurm no longer knows by what they left."""

    def begin(self, source: StatusSource) -> None:
        """What the plugin's executor lacks."""
        self._source, self._since = source, datetime.now()
        self._interval = self.workflow.executor_settings.init_seconds_before_status_checks
        self._outage: float | None = None  # when it began
        self._said = 0.0
        self._submitted: set[str] = set()  # numbers
        self._refused: dict[JobExecutorInterface, float] = {}  # -> since when sbatch takes it not
        self._pauses: dict[JobExecutorInterface, float] = {}  # seconds before it is submitted again
        self._timers: list[threading.Timer] = []
        self._doubted: dict[JobExecutorInterface, float] = {}  # -> since when nothing certain is known

    def get_job_exec_prefix(self, job: JobExecutorInterface) -> str:
        """What a job does first: it claims its output, or does not begin."""
        claims = claim.folder(job.output)
        word = claim.submit(claims)
        return shlex.join([self.get_python_executable(), "-m", claim.__name__, str(claims), word])

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
        self._submitted.add(job_info.external_jobid)
        self._refused.pop(job_info.job, None)
        super()._report_job_submission_threadsafe(job_info)

    def _report_job_error_threadsafe(self, job_info: SubmittedJobInfo, msg: str) -> None:
        """A submission failed. One whose cause may pass is no attempt of the job."""
        job = job_info.job
        waited = time.monotonic() - self._refused.setdefault(job, time.monotonic())
        said = re.search("The error message was '(.*?)'[.]\n", msg, re.DOTALL)
        error = " ".join((said[1] if said else msg).split())
        if not causes.passing(error) or waited > PATIENCE:
            del self._refused[job]
            super()._report_job_error_threadsafe(job_info, msg)
            return
        pause = min(max(self._interval, waited), REMINDER)
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
        ours = [one for one in told if one.comment == _comment(job) and one.number not in self._submitted]
        if not ours:
            self.run_job(job)
            return
        number = ours[0].number
        log = self.slurm_logdir / f"rule_{job.name}" / get_job_wildcards(job) / f"{number}.log"
        self.logger.info(
            f"Job {job.jobid} had been submitted after all, with SLURM jobid {number} (log: {log})."
        )
        info = SubmittedJobInfo(job, external_jobid=number, aux={"slurm_logfile": log})
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
        claim.withdraw()

    async def check_active_jobs(
        self, active_jobs: Sequence[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Report the jobs that have ended, yield the others: all, where Slurm does not answer."""
        if not active_jobs:
            self.next_seconds_between_status_checks = self._interval
            return
        try:
            known = await asyncio.to_thread(self._known, active_jobs)
        except Unanswered as error:
            self._say_outage(str(error), len(active_jobs))
            for info in active_jobs:
                yield info
            return
        self._say_end_of_outage()
        ended = 0
        for info in active_jobs:
            if self._settled(info, known.get(info.external_jobid)):
                ended += 1
                self._doubted.pop(info.job, None)
            else:
                yield info
        longer = min(self.next_seconds_between_status_checks + 10, LONGEST)
        self.next_seconds_between_status_checks = self._interval if ended or self._doubted else longer

    async def sleep(self) -> None:
        """As the plugin's, but a run that ends does not wait for its end."""
        until = time.monotonic() + self.next_seconds_between_status_checks
        while self.wait and time.monotonic() < until:
            await asyncio.sleep(0.5)

    def _known(self, active_jobs: Sequence[SubmittedJobInfo]) -> dict[str, Job]:
        """Number -> what Slurm knows of it, of those of these jobs that it knows."""
        found: dict[str, Job] = {}
        for command in self._source.commands:
            told = states(command, self.run_uuid, self._since)
            for info in active_jobs:
                job = told.get(info.external_jobid)
                # A controller that lost its state counts anew: the number may be another job's by now. Some
                # clusters write comments of their own.
                if job and (job.comment == _comment(info.job) or not job.comment.startswith("rule_")):
                    found.setdefault(job.number, job)
            if len(found) == len(active_jobs):
                break
        return found

    def _settled(self, info: SubmittedJobInfo, job: Job | None) -> bool:
        """Whether a job has ended, for well or ill; that is reported."""
        log = Path(info.aux["slurm_logfile"])
        if job and job.state == "COMPLETED":
            self._succeed(info, log)
        elif job and job.state in FAILED:
            self._fail(info, job, log)
        elif job and job.state not in DOUBTFUL:
            self._doubted.pop(info.job, None)
            return False
        elif job is None and causes.FINISHED in causes.ended(log) and _made(info):
            self.logger.info(
                f"Slurm no longer knows job {info.external_jobid}, but it came to its end and made its files."
            )
            self._succeed(info, log)
        elif time.monotonic() - self._doubted.setdefault(info.job, time.monotonic()) < 3 * self._interval:
            return False
        else:
            self._fail(info, job or Job(info.external_jobid, "LOST", ""), log)
        return True

    def _succeed(self, info: SubmittedJobInfo, log: Path) -> None:
        claim.drop(claim.folder(info.job.output))
        self.report_job_success(info)
        if not self.workflow.executor_settings.keep_successful_logs:
            log.unlink(missing_ok=True)

    def _fail(self, info: SubmittedJobInfo, job: Job, log: Path) -> None:
        cured = False
        if job.state == "LOST":
            said = (
                f"Slurm no longer knows job {job.number}, and it did not come to its end: Slurm's controller "
                "lost its state, or this process stood still for longer than Slurm remembers. "
            )
        else:
            cause = causes.cause(job.state, causes.ended(log))
            cured = cause in (*causes.ASKED, "CANCELLED")  # by asking for more, or by the user
            said = causes.sentence(job.number, info.job.name, cause, job.reason, info.job.resources)
        if not cured:
            self._pauses[info.job] = self._interval * 3 ** (info.job.attempt - 1)
        self.report_job_error(info, msg=said, aux_logs=[str(log)])

    def _say_outage(self, error: str, jobs: int) -> None:
        now = time.monotonic()
        self.next_seconds_between_status_checks = self._interval
        if self._outage is None:
            self._outage, self._said = now, now
            self.logger.warning(
                f"Slurm does not answer ({error}). The {jobs} jobs under way may well go on; it is asked "
                f"again every {self._interval} s for as long as it takes."
            )
        elif now - self._said > REMINDER:
            self._said = now
            self.logger.warning(
                f"Slurm has not answered for {(now - self._outage) / 60:.0f} minutes ({error}): asking on."
            )

    def _say_end_of_outage(self) -> None:
        if self._outage is not None:
            self.logger.info(f"Slurm answers again, after {time.monotonic() - self._outage:.0f} s.")
            self._outage = None


def mend(executor: plugin.Executor, source: StatusSource) -> None:
    """Make the executor of a run that is about to begin one of these.

    Raises SlurmError where it is not of the plugin that this was written for, or where it makes arrays.
    """
    found = version(PACKAGE)
    if found != VERSION:
        raise SlurmError(
            f"{PACKAGE} is {found} here, but rllc's watch over Slurm's outages is made for {VERSION}: "
            f"install that (`make env` does), or {PACKAGE}=={VERSION} with pip"
        )
    if executor.array_jobs:
        raise SlurmError(
            "slurm-array-jobs can wait for ever and fail jobs that succeeded: leave it out of the profile"
        )
    executor.__class__ = Executor
    executor.begin(source)


def _comment(job: JobExecutorInterface) -> str:
    """What the plugin tells Slurm of a job."""
    wildcards = get_job_wildcards(job)
    return f"rule_{job.name}_wildcards_{wildcards}" if wildcards else f"rule_{job.name}"


def _made(info: SubmittedJobInfo) -> bool:
    return all(Path(file).exists() for file in info.job.output)
