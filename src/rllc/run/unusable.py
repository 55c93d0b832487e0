"""Unusable outputs: Snakemake plans as if they were absent, in a dry run and in a real one.

Planning changes no file. The check runs when Snakemake asks whether a file exists, so it covers only files
that a rule makes and the plan needs.
"""

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from rllc.run.validate_outputs import problem


class Unusable:
    """Checks of outputs, one for each state of a file."""

    def __init__(self, results: Path):
        self._results = results.absolute()
        self._judged: dict[str, tuple[tuple[int, int, int], str | None]] = {}

    def problem(self, file: str | Path) -> str | None:
        """Return why an output cannot be used; None where it can, or where there is none."""
        try:
            status = Path(file).stat()
        except OSError:
            return None
        state = (status.st_mtime_ns, status.st_size, status.st_ino)
        name = str(file)
        if name not in self._judged or self._judged[name][0] != state:
            self._judged[name] = (state, problem(Path(file)))
        return self._judged[name][1]

    def in_the_way(self, outputs: Iterable[str], recorded: Collection[str]) -> dict[Path, str]:
        """Return output -> reason for each existing file that is not a result of this workflow.

        It is unusable, or Snakemake has no record of it. Snakemake would delete it before its job.
        """
        found = {}
        for output in outputs:
            if os.path.lexists(output):
                reason = self.problem(output)
                if not reason and output not in recorded:
                    reason = f"{output} is not as a run made it, or no run did"
                if reason:
                    found[Path(output)] = reason
        return found

    def hide(self) -> None:
        """Make Snakemake, in this process, plan as if unusable outputs did not exist.

        Inputs of the user are flagged ``ancient`` in this workflow. They are never checked.
        """
        from snakemake.io import _IOFile

        exists = _IOFile.exists_local

        async def exists_and_serves(file: Any) -> bool:
            return await exists(file) and not (self._is_output(file) and self.problem(str(file)))

        _IOFile.exists_local = exists_and_serves

    def _is_output(self, file: Any) -> bool:
        if file.flags.get("ancient"):
            return False
        return self._results in Path(str(file)).absolute().parents
