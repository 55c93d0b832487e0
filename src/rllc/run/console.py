"""What the terminal shows of a failed job: why it failed and where to read on; its command on request."""

import logging
import re

SAID = re.compile(r"^ +shell:\n.*?\(command exited with non-zero exit code\)\n?", re.MULTILINE | re.DOTALL)
RAISED = re.compile(r"Command '.*' returned non-zero", re.DOTALL)


class WithoutCommands(logging.Formatter):
    """Another formatter's text without the command of a failed job, which it would hold twice."""

    def __init__(self, formatter: logging.Formatter):
        super().__init__()
        self._whole = formatter

    def format(self, record: logging.LogRecord) -> str:
        text = str(self._whole.format(record))
        return RAISED.sub("The command (--printshellcmds shows it) returned non-zero", SAID.sub("", text))


def leave_out_commands(logger: logging.Logger) -> None:
    """Have what writes to the terminal leave commands out; Snakemake's own log holds them."""
    for handler in logger.handlers:
        if handler.formatter and not isinstance(handler, logging.FileHandler):
            handler.setFormatter(WithoutCommands(handler.formatter))
