"""Files of the settings of jobs: ``.snakemake/rllc/settings/<digest>.json``.

A job gets the name of a file instead of its settings. The system refuses an argument of more than 128 KiB.
The name contains a digest of the settings, so Snakemake sees by the name alone that settings changed.
Commands that only read the plan write nothing: the main process writes the files of a run's jobs when the run
starts. A job of a cluster writes its own file where it is missing.
"""

from collections.abc import Iterable
from pathlib import Path

from rllc.job_settings.file import as_text, digest
from rllc.run.atomic_write import atomic_write
from rllc.run.plan import FOLDER


class SettingsFiles:
    """The settings files of the jobs of one process.

    writes  whether files are written as soon as they are named: True in a job, False in the main process
    """

    def __init__(self, *, writes: bool):
        self._writes = writes
        self._settings: dict[str, object] = {}

    def name(self, settings: object) -> str:
        """Return the file of these settings, relative to the repository."""
        file = f"{FOLDER}/settings/{digest(settings)}.json"
        self._settings[file] = settings
        if self._writes:
            self.write([file])
        return file

    def write(self, files: Iterable[str]) -> None:
        """Write the files that are missing or incomplete."""
        for file in sorted(set(files)):
            path, text = Path(file), as_text(self._settings[file])
            if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text:
                atomic_write(path, text)
