"""What the terminal shows of a run: why a job failed, its command on request, how long is left, no more."""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

SAID = re.compile(r"^ +shell:\n.*?\(command exited with non-zero exit code\)\n?", re.MULTILINE | re.DOTALL)
RAISED = re.compile(r"Command '.*' returned non-zero", re.DOTALL)
FIRST = re.compile(r"(Reason: Missing output files: [^;\n]*); Input files updated by another job: .*")
# Thousands of files of a job that failed.
LISTED = re.compile(r"^( +(?:input|output): .{300}).{700}.*$", re.MULTILINE)
PROGRESS = re.compile(r"\d+ of \d+ steps \(.*\) done")
# Of no use to who runs a study; or, the second, advice that would leave results that other code made.
UNSAID = re.compile(
    r"Select jobs to execute|Some jobs were triggered by provenance|Rules with provenance|Execute \d+ jobs"
)


class Readable(logging.Formatter):
    """Another formatter's text with how long is left, and without the command of a failed job.

    It would hold the command twice. New inputs of what is made for the first time are no reason.
    """

    def __init__(self, formatter: logging.Formatter):
        super().__init__()
        self._whole = formatter
        self.to_go: Callable[[], str] | None = None

    def format(self, record: logging.LogRecord) -> str:
        text = str(self._whole.format(record))
        if self.to_go and PROGRESS.fullmatch(text):
            return f"{text}{self.to_go()}"
        text = FIRST.sub(r"\1", SAID.sub("", text))
        text = LISTED.sub(r"\1 ... (all of them are in the complete log)", text)
        return RAISED.sub("The command (--printshellcmds shows it) returned non-zero", text)


class ToGo:
    """What the jobs that are not finished will take, by what was forecast and by how the others went.

    seconds     job -> CPU seconds that were forecast
    unfinished  the jobs that are not finished yet
    """

    def __init__(self, seconds: Mapping[Any, float], unfinished: Callable[[], Iterable[Any]]):
        self._seconds, self._unfinished = seconds, unfinished
        self._begun, self._all = time.monotonic(), sum(seconds.values())

    def __call__(self) -> str:
        if self._all < 60:
            return ""
        left = sum(self._seconds.get(job, 0.0) for job in self._unfinished())
        done = self._all - left
        said = f"; {_minutes(left)} of {self._all / 60:,.0f} CPU minutes to go"
        if not left or done < 0.05 * self._all:
            return said
        return (
            f"{said}, {_minutes(left * (time.monotonic() - self._begun) / done)} minutes at the pace so far"
        )


def make_readable(logger: logging.Logger) -> None:
    """Have what writes to the terminal be brief; Snakemake's own log holds everything."""
    for handler in _terminal(logger):
        handler.setFormatter(Readable(handler.formatter))
        handler.addFilter(lambda record: not UNSAID.match(str(record.msg)))


def say_how_long(logger: logging.Logger, to_go: Callable[[], str]) -> None:
    """Have the terminal say ``to_go()`` behind each count of finished jobs."""
    for handler in _terminal(logger):
        if isinstance(handler.formatter, Readable):
            handler.formatter.to_go = to_go


def _terminal(logger: logging.Logger) -> list[logging.Handler]:
    return [each for each in logger.handlers if each.formatter and not isinstance(each, logging.FileHandler)]


def _minutes(seconds: float) -> str:
    minutes = seconds / 60
    return f"about {minutes:,.0f}" if minutes >= 1 else "less than 1"
