"""Settings and lists of files that are too long for a command line, kept in files that jobs read.

The system refuses an argument of more than 128 KiB, and more than about 2 MB of them. So a job is told
``@<file>`` in place of a long text; the file is named by the digest of the text. The main process writes it
when its run starts, since commands that only read the plan write nothing; a job of a cluster writes it where
it is missing.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from rllc.run.atomic_write import atomic_write
from rllc.run.planned import FOLDER

LONGEST = 4000  # characters of one flag
NAME = re.compile(rf"@({re.escape(str(FOLDER))}/settings/[0-9a-f]{{32}}\.json)")


class LongSettings:
    """The long texts of one process.

    writes  whether it may write yet: a job may, the main process only once its run has begun
    """

    def __init__(self, *, writes: bool):
        self._writes = writes
        self._waiting: dict[Path, str] = {}

    def flag(self, text: str) -> str:
        """Return what a job is told: the text, or, where that is long, ``@<file>``."""
        if len(text) <= LONGEST:
            return text
        file = FOLDER / "settings" / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
        self._waiting[file] = text
        if self._writes:
            self.write()
        return f"@{file}"

    def files(self, paths: Iterable[str]) -> list[str]:
        """Return the same of a list of files: their paths, or one ``@<file>`` with all of them as JSON."""
        listed = [str(path) for path in paths]
        return listed if sum(map(len, listed)) <= LONGEST else [self.flag(json.dumps(listed))]

    def write(self) -> None:
        """Write what was asked for so far, and from now on at once."""
        self._writes = True
        while self._waiting:
            file, text = self._waiting.popitem()
            if not file.is_file():
                atomic_write(file, text)


def told(text: str) -> str:
    """Return what a flag stands for: itself, or the contents of the file that it names."""
    named = NAME.fullmatch(text)
    return Path(named[1]).read_text(encoding="utf-8") if named else text


def told_files(paths: list[str]) -> list[str]:
    """Return the paths that a flag of files stands for."""
    return json.loads(told(paths[0])) if len(paths) == 1 and NAME.fullmatch(paths[0]) else paths
