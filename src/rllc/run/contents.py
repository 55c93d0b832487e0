"""Digests of the user's own files: text, imported checkpoints, tokenizers.

Snakemake makes a result again if an input is newer. A file may be replaced by an older one (`mv`, `cp -p`,
`rsync -a`, an unpacked archive). So the rules that read a user's files carry a digest of the contents
instead. A fresh checkout or a `touch` then starts nothing.
"""

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rllc.run.atomic_write import atomic_write
from rllc.run.plan import FOLDER

CACHE = FOLDER / "contents.json"
SHA256 = re.compile(r"[0-9a-f]{64}")
SETTLED = 2_000_000_000  # nanoseconds: a file that changed more recently may change again within one tick


class Contents:
    """Digests of files, kept from plan to plan. A file is read again only if its status has changed.

    No tool can set the time of the last change of status (ctime), so no replacement goes unseen.
    """

    def __init__(self, cache: Path = CACHE):
        self._cache = cache
        self._known = _read(cache)
        self._kept = True

    def digest(self, paths: Iterable[str | Path]) -> str:
        """Return one short hash of the contents of files, in this order. Names and times do not count."""
        each = [self._of(Path(path)) for path in paths]
        if not self._kept:
            self._keep()
        return hashlib.sha256(" ".join(each).encode()).hexdigest()[:16]

    def _of(self, file: Path) -> str:
        if not file.is_file():  # a missing file is reported by the job that reads it
            return "missing"
        if (blob := file.resolve()).parent.name == "blobs" and SHA256.fullmatch(blob.name):
            return blob.name  # the cache of the hub names a large file after its digest
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
        """Write the known digests for the next plan. If the folder is read-only, that plan takes longer."""
        self._kept = True
        with contextlib.suppress(OSError):
            atomic_write(self._cache, json.dumps(self._known))


def _read(cache: Path) -> dict[str, list[Any]]:
    try:
        return dict(json.loads(cache.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
