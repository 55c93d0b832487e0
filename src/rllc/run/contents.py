"""What is in the user's own files: text, imported checkpoints, tokenizers.

Snakemake makes a result again where an input is newer than it. What replaces a file may be older (`mv`,
`cp -p`, `rsync -a`, an archive unpacked). So the rules that read a user's files carry a digest of their
contents instead, and a fresh checkout or a `touch` starts nothing.
"""

import contextlib
import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rllc.run.atomic_write import atomic_write
from rllc.run.plan import FOLDER

CACHE = FOLDER / "contents.json"
SETTLED = 2_000_000_000  # nanoseconds: a file that changed more recently may change again within one tick


class Contents:
    """Digests of files, kept from plan to plan: a file is read again where its status says it was touched.

    No tool can set the time of the last change of status (ctime), so no replacement goes unseen.
    """

    def __init__(self, cache: Path = CACHE):
        self._cache = cache
        self._known = _read(cache)
        self._kept = True

    def digest(self, paths: Iterable[str | Path]) -> str:
        """One short hash of the contents of files, in the order given, whatever their names and times."""
        each = [self._of(Path(path)) for path in paths]
        if not self._kept:
            self._keep()
        return hashlib.sha256(" ".join(each).encode()).hexdigest()[:16]

    def _of(self, file: Path) -> str:
        if not file.is_file():  # what needs it says so
            return "missing"
        name, status = str(file.absolute()), file.stat()
        facts = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        if name in self._known and self._known[name][:-1] == facts:
            return self._known[name][-1]
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if time.time_ns() - status.st_ctime_ns > SETTLED:
            self._known[name], self._kept = [*facts, digest], False
        return digest

    def _keep(self) -> None:
        """Write what is known, for the next plan; where it cannot be written, that plan takes longer."""
        self._kept = True
        with contextlib.suppress(OSError):
            atomic_write(self._cache, json.dumps(self._known))


def _read(cache: Path) -> dict[str, list[Any]]:
    try:
        return dict(json.loads(cache.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
