"""Terminal output of a run: a line when a job starts, a line when it ends, and the reason of a failure.

Snakemake's own log in ``.snakemake/log`` holds everything.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping

from snakemake_interface_logger_plugins.common import LogEvent

SHELL = re.compile(r"^ +shell:\n.*?\(command exited with non-zero exit code\)\n?", re.MULTILINE | re.DOTALL)
EXIT = re.compile(
    r"RuleException:\nCalledProcessError in file .*\nCommand '.*' (returned non-zero|died with)", re.DOTALL
)
FIRST = re.compile(r"(Reason: Missing output files: [^;\n]*); Input files updated by another job: .*")
# A job that failed may list thousands of files.
LONG_LIST = re.compile(r"^( +(?:input|output): .{300}).{700}.*$", re.MULTILINE)
LISTED = re.compile(r"^    (message: None|jobid: \d+|input: .*|output: .*)\n", re.MULTILINE)
HEAD = re.compile(r"^(\[.*\]\n)?Error in rule \w+:")
NUMBERED = re.compile(r"(Job|Trying to restart job) (\d+)\b")
SUBMITTED = re.compile(r"Job \d+ (\(.*\)) has been submitted with ")
# Lines that do not help the user. The advice in the second one would keep results that other code made.
UNSAID = re.compile(
    r"Select jobs to execute|Some jobs were triggered by provenance|Rules with provenance|Execute \d+ jobs"
)
# Not needed at the start of a run: the forecast gives the number of jobs and their cost.
UNSAID_IN_A_RUN = re.compile(r"Using shell: |Rules claiming more threads|Conda environments: ignored")
EVENTS_UNSAID_IN_A_RUN = {LogEvent.WORKFLOW_STARTED, LogEvent.RUN_INFO}


class Short(logging.Formatter):
    """Formatter that shortens the text of another one.

    It leaves out targets, which list every file again, and the commands of failed jobs. For outputs that are
    missing, it leaves out updated inputs as a second reason.

    commands  whether to keep the commands
    """

    def __init__(self, formatter: logging.Formatter, *, commands: bool):
        super().__init__()
        self._whole, self._commands = formatter, commands

    def format(self, record: logging.LogRecord) -> str:
        if getattr(record, "event", None) == LogEvent.JOB_INFO and not getattr(record, "output", True):
            return ""
        return self._cut(FIRST.sub(r"\1", str(self._whole.format(record))))

    def _cut(self, text: str) -> str:
        if self._commands:
            return text
        text = LONG_LIST.sub(r"\1 ... (all of them are in the complete log)", text)
        return EXIT.sub(r"The command (--printshellcmds shows it) \1", SHELL.sub("", text))


class Brief(Short):
    """Formatter with two lines for each job of a run, and the short text of everything else."""

    def __init__(self, formatter: logging.Formatter, *, commands: bool):
        super().__init__(formatter, commands=commands)
        self._jobs: dict[int, str] = {}  # Snakemake's number of a job -> what it does
        self._finished: list[int] = []  # since the last count of finished jobs
        self.progress: Callable[[int], str] | None = None
        self.submits = False  # whether jobs go to a cluster: their line appears once Slurm has accepted them

    def format(self, record: logging.LogRecord) -> str:
        texts: dict[object, Callable[[logging.LogRecord], str]] = {
            LogEvent.JOB_INFO: self._start,
            LogEvent.JOB_FINISHED: self._finish,
            LogEvent.PROGRESS: self._count,
            LogEvent.JOB_ERROR: self._failure,
        }
        text_of = texts.get(getattr(record, "event", None), self._other)
        return text_of(record)

    def _start(self, record: logging.LogRecord) -> str:
        job = vars(record)
        if not job["output"]:  # a target
            return ""
        wildcards = ", ".join(map(str, job["wildcards"].values()))
        what = self._jobs[job["jobid"]] = job["rule_msg"] or f"{job['rule_name']} {wildcards}".strip()
        return "" if self.submits and not job["local"] else f"{_clock(record)} {what}"

    def _finish(self, record: logging.LogRecord) -> str:
        self._finished.append(vars(record)["job_id"])
        return ""

    def _count(self, record: logging.LogRecord) -> str:
        lines = []
        for job in self._finished:
            count = (
                self.progress(job) if self.progress else f"{vars(record)['done']} of {vars(record)['total']}"
            )
            if job in self._jobs or (self.progress and count):  # not told of its start: --quiet rules
                lines.append(f"{_clock(record)} done: {self._jobs.get(job, f'job {job}')} ({count})")
        self._finished.clear()
        return "\n".join(lines)

    def _failure(self, record: logging.LogRecord) -> str:
        what = self._jobs.get(vars(record)["jobid"], vars(record)["rule_name"])
        text = LISTED.sub("", self._other(record))
        return HEAD.sub(lambda _: f"{_clock(record)} failed: {what}", text)

    def _other(self, record: logging.LogRecord) -> str:
        text = NUMBERED.sub(self._named, super().format(record), count=1)
        return SUBMITTED.sub(lambda job: f"{_clock(record)} {job[1][1:-1]}: submitted, ", text)

    def _named(self, number: re.Match[str]) -> str:
        what = self._jobs.get(int(number[2]))
        return f"{number[0]} ({what})" if what and not number.start() else number[0]


class ToGo:
    """Remaining time of a run, from the forecast and from the pace of the finished jobs.

    seconds  Snakemake's number of each job that makes something -> CPU seconds that were forecast
    """

    def __init__(self, seconds: Mapping[int, float]):
        self._seconds = dict(seconds)
        self._left = dict(seconds)
        self._begun = time.monotonic()

    def __call__(self, finished: int) -> str:
        """Return how many jobs are done and how long the others take; "" if this one is a target."""
        if finished not in self._seconds:
            return ""
        self._left.pop(finished, None)
        jobs, whole, left = len(self._seconds), sum(self._seconds.values()), sum(self._left.values())
        said = f"{jobs - len(self._left)} of {jobs} job{'' if jobs == 1 else 's'}"
        if not self._left:
            return said
        done = whole - left
        if done < 0.05 * whole:
            return f"{said}, {_about(left, 'CPU ')} left"
        return f"{said}, {_about(left * (time.monotonic() - self._begun) / done)} left"

    def spare(self, jobs: Iterable[int]) -> None:
        """Stop counting jobs that turned out not to be needed."""
        for job in jobs:
            self._seconds.pop(job, None)
            self._left.pop(job, None)


def make_readable(logger: logging.Logger, *, brief: bool, commands: bool) -> None:
    """Shorten the terminal output. Snakemake's own log holds everything.

    brief     whether each job gets two lines; otherwise every job is shown with the reason why it runs
    commands  whether the user asked for the commands of jobs
    """
    for handler, formatter in _terminal(logger):
        kind = Brief if brief else Short
        handler.setFormatter(kind(formatter, commands=commands))
        handler.addFilter(_said_in_a_run if brief else _said_anywhere)
        if brief:
            handler.addFilter(lambda record, handler=handler: _without_empty_line(handler))


def say_how_long(logger: logging.Logger, progress: Callable[[int], str], *, submits: bool) -> None:
    """Print ``progress(number)`` on the terminal when a job finishes.

    submits  whether jobs go to a cluster
    """
    for _, formatter in _terminal(logger):
        if isinstance(formatter, Brief):
            formatter.progress, formatter.submits = progress, submits


def _terminal(logger: logging.Logger) -> list[tuple[logging.Handler, logging.Formatter]]:
    """Return the handlers that write to the terminal, and their formatters."""
    return [
        (each, each.formatter)
        for each in logger.handlers
        if each.formatter and not isinstance(each, logging.FileHandler)
    ]


def _said_anywhere(record: logging.LogRecord) -> bool:
    return not UNSAID.match(str(record.msg))


def _said_in_a_run(record: logging.LogRecord) -> bool:
    if getattr(record, "event", None) in EVENTS_UNSAID_IN_A_RUN:
        return False
    return _said_anywhere(record) and not UNSAID_IN_A_RUN.match(str(record.msg))


def _without_empty_line(handler: logging.Handler) -> bool:
    """Stop Snakemake's handler from writing an empty line before a job. Return whether it would have."""
    # Only Snakemake's own handler has it.
    handler.last_msg_was_job_info = True  # pyright: ignore[reportAttributeAccessIssue]
    return True


def _clock(record: logging.LogRecord) -> str:
    return time.strftime("%H:%M:%S", time.localtime(record.created))


def _about(seconds: float, kind: str = "") -> str:
    """Return a rounded time, as ``about 12 minutes``. ``kind`` goes before the unit: CPU minutes."""
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"less than a {kind}minute"
    if minutes >= 120:
        return f"about {seconds / 3600:,.1f} {kind}hours"
    return f"about {minutes:,} {kind}minute{'' if minutes == 1 else 's'}"
