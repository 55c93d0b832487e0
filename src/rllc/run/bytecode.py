"""Compiled files of this package that Python checks by content.

Python keeps what it compiled in ``__pycache__`` and trusts it where the source has the size and the time (in
seconds) that it had. An archive that unpacks with fixed times can replace a source by another with both. The
fingerprint of a job, which is of the source, would then be of other code than the one that runs.
"""

import contextlib
import py_compile
import sys
from importlib.util import cache_from_source
from pathlib import Path

BY_CONTENT = b"\x03\x00\x00\x00"  # flags of a compiled file: its source is hashed and compared (PEP 552)


def check_by_content(folder: Path) -> None:
    """Compile again every file below ``folder`` that Python would trust by its time; once done, it stays so.

    Where ``__pycache__`` cannot be written, nothing is done: Python writes none there either. Where Python is
    told to write none (PYTHONDONTWRITEBYTECODE), only files that are there already are compiled again.
    """
    for source in sorted(folder.rglob("*.py")):
        compiled = Path(cache_from_source(str(source)))
        wanted = compiled.exists() or not sys.dont_write_bytecode
        if wanted and not _is_by_content(compiled):
            with contextlib.suppress(
                OSError, py_compile.PyCompileError
            ):  # an import of it says what is wrong
                py_compile.compile(
                    str(source),
                    doraise=True,
                    invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH,
                )


def _is_by_content(compiled: Path) -> bool:
    try:
        with compiled.open("rb") as file:
            return file.read(8)[4:] == BY_CONTENT
    except OSError:
        return False
