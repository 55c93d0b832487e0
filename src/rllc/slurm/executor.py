"""An executor of the Slurm plugin that survives outages of Slurm.

The plugin (2.8.0) has three faults:
- If `squeue` fails five times in a row, which takes 45 ms, the plugin forgets every running job.
- If `scontrol` fails once, the plugin asks a database that may not exist.
- If Slurm no longer knows a job, the plugin waits for it for ever.

Settings of the profile cure only the first. A wrapper around the command `squeue` could not look at outputs
and logs to judge a forgotten job. So this module replaces the status check, ``rllc.slurm.submission`` wraps
the submission, and the rest is the plugin's. Other versions of the plugin are refused. The profile names this
executor `rllc-slurm` (``snakemake_executor_plugin_rllc_slurm``).
"""

import asyncio
import re
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface

from rllc.run.writable import closed
from rllc.slurm import failure_reason, output_lock
from rllc.slurm.profile import refuse_unread
from rllc.slurm.queue import (
    ENDED,
    LONGEST_WAIT,
    Job,
    SlurmError,
    StatusSource,
    Unanswered,
    states,
    status_source,
)
from rllc.slurm.submission import Submission, comment, number

PACKAGE, VERSION = "snakemake-executor-plugin-slurm", "2.8.0"
REMINDER = 600  # seconds of an outage until the next message
FAILED = {"BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "TIMEOUT"}
# Slurm may put such a job back into the queue, which shows after a while.
DOUBTFUL = {"NODE_FAIL", "PREEMPTED", "REVOKED"}
# Reasons for which a job waits for the user or an administrator.
HELD = re.compile(
    r"held|BadConstraints|PartitionTimeLimit|PartitionNodeLimit|InvalidAccount|InvalidQOS", re.I
)


class Executor(Submission):
    """Executor that waits for Slurm in an outage, and judges forgotten jobs by their outputs and logs."""

    _source: StatusSource

    def __init__(self, workflow: Any, logger: Any):
        # First: the plugin's executor starts the thread that checks the jobs.
        self.begin(workflow.executor_settings.init_seconds_before_status_checks)
        super().__init__(workflow, logger)

    def __post_init__(self, test_mode: bool = False) -> None:
        """Make sure that the end of jobs will be seen, before any is submitted. Raises WorkflowError."""
        if len(self.workflow.dag):  # otherwise no job will run, and Slurm need not answer
            try:
                refuse_unread(sys.argv)
                self._source = _checked_source(self.workflow.executor_settings)
            except SlurmError as error:
                raise WorkflowError(str(error)) from None
            self.logger.info(self._source.sentence)
        super().__post_init__(test_mode)

    def begin(self, interval: int) -> None:
        """Set up the state that the plugin's executor lacks."""
        self.begin_submissions(interval)
        self._outage: float | None = None  # when the outage began
        self._said = 0.0  # when the last message about the outage was given
        self._read_only: set[Path] = set()  # unwritable folders already reported
        self._held: set[str] = set()  # numbers of held jobs already reported
        self._doubted: dict[JobExecutorInterface, float] = {}  # -> the time since when its state is uncertain

    async def check_active_jobs(
        self, active_jobs: Sequence[SubmittedJobInfo]
    ) -> AsyncGenerator[SubmittedJobInfo, None]:
        """Report the jobs that have ended and yield the others. If Slurm does not answer, yield all."""
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
            if self._settled(info, known.get(number(info))):
                ended += 1
                self._doubted.pop(info.job, None)
            else:
                yield info
        longer = min(self.next_seconds_between_status_checks + 10, LONGEST_WAIT)
        self.next_seconds_between_status_checks = self._interval if ended or self._doubted else longer

    async def sleep(self) -> None:
        """Sleep as the plugin does, but stop when the run ends."""
        until = time.monotonic() + self.next_seconds_between_status_checks
        while self.wait and time.monotonic() < until:
            await asyncio.sleep(0.5)

    def _known(self, active_jobs: Sequence[SubmittedJobInfo]) -> dict[str, Job]:
        """Return number -> job, for those of these jobs that Slurm knows."""
        found: dict[str, Job] = {}
        for command in self._source.commands:
            told = states(command, self.run_uuid, self._since)
            for info in active_jobs:
                job = told.get(number(info))
                # A controller that lost its state counts from the start: the number may belong to another
                # job. Some clusters change the comments.
                if job and (job.comment == comment(info.job) or not job.comment.startswith("rule_")):
                    found.setdefault(job.number, job)
            if len(found) == len(active_jobs):
                break
        return found

    def _settled(self, info: SubmittedJobInfo, job: Job | None) -> bool:
        """Report a job that has ended, with or without success. Return whether it has ended."""
        assert info.aux is not None
        log = Path(info.aux["slurm_logfile"])
        if (job is None or job.state in ENDED) and not self._writable(info.job):
            return False
        if job and job.state == "COMPLETED":
            self._succeed(info, log)
        elif job and job.state in FAILED:
            self._fail(info, job, log)
        elif job and job.state not in DOUBTFUL:
            self._doubted.pop(info.job, None)
            self._say_held(job)
            return False
        elif job is None and failure_reason.FINISHED in failure_reason.ended(log) and _made(info):
            self.logger.info(
                f"Slurm no longer knows job {info.external_jobid}, but it came to its end and made its files."
            )
            self._succeed(info, log)
        # doubtful or unknown: wait three intervals, in which Slurm may requeue the job or remember it
        elif time.monotonic() - self._doubted.setdefault(info.job, time.monotonic()) < 3 * self._interval:
            return False
        else:
            self._fail(info, job or Job(number(info), "LOST", ""), log)
        return True

    def _succeed(self, info: SubmittedJobInfo, log: Path) -> None:
        output_lock.drop(output_lock.folder(info.job.output))
        self.report_job_success(info)
        if not self.workflow.executor_settings.keep_successful_logs:
            log.unlink(missing_ok=True)

    def _fail(self, info: SubmittedJobInfo, job: Job, log: Path) -> None:
        retry_at_once = False
        if job.state == "LOST":
            said = (
                f"Slurm no longer knows job {job.number}, and it did not come to its end: Slurm's controller "
                "lost its state, or this process stood still for longer than Slurm remembers. "
            )
        else:
            ended = failure_reason.ended(log)
            cause = failure_reason.cause(job.state, ended)
            # More resources help where those asked for were too few; a cancelled job has nothing to wait for.
            retry_at_once = cause in (*failure_reason.ASKED, "CANCELLED")
            said = failure_reason.sentence(
                job.number, info.job.name, cause, job.reason, info.job.resources, ended
            )
        if not retry_at_once:
            # each attempt waits three times as long as the one before, until what failed has passed
            self._pauses[info.job] = self._interval * 3 ** (info.job.attempt - 1)
        self.report_job_error(info, msg=said, aux_logs=[str(log)])

    def _writable(self, job: JobExecutorInterface) -> bool:
        """Return whether Snakemake can write beside a job's files. It must when a job ends, or it dies."""
        folder = closed([*job.output, *job.log])
        if folder and folder not in self._read_only:
            self._read_only.add(folder)
            self.logger.warning(f"{folder.absolute()} cannot be written: waiting until it can.")
        return folder is None

    def _say_held(self, job: Job) -> None:
        """Report a job that waits for the user or an administrator rather than for its turn."""
        if HELD.search(job.reason) and job.number not in self._held:
            self._held.add(job.number)
            self.logger.warning(
                f"Slurm holds job {job.number} back ({job.reason}), and may do so for ever: "
                f"`scontrol show job {job.number}` says more; `scontrol release` or `scancel` ends it."
            )

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


def _checked_source(settings: Any) -> StatusSource:
    """Return the commands that will show when jobs end.

    settings  those of the plugin

    Raises SlurmError if no command would show it, if the plugin has another version than ``Executor`` was
    written for, or if it makes job arrays.
    """
    found = version(PACKAGE)
    if found != VERSION:
        raise SlurmError(
            f"{PACKAGE} is {found} here, but rllc's watch over Slurm's outages is made for {VERSION}: "
            f"install that (`make env` does), or {PACKAGE}=={VERSION} with pip"
        )
    if settings.array_jobs:
        raise SlurmError(
            "rllc-slurm-array-jobs can wait for ever and fail jobs that succeeded: leave it out of profiles"
        )
    return status_source(settings.status_command, settings.init_seconds_before_status_checks)


def _made(info: SubmittedJobInfo) -> bool:
    return all(Path(file).exists() for file in info.job.output)
