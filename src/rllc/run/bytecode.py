"""Compiled files of this package that Python checks by content.

Python keeps compiled files in ``__pycache__`` and trusts them while the source keeps its size and its time
(in seconds). An archive that unpacks with fixed times can replace a source file without changing either. The
fingerprint of a job is computed from the source, so it would then describe code that does not run.
"""

import contextlib
import py_compile
import sys
from importlib.util import cache_from_source
from pathlib import Path

BY_CONTENT = b"\x03\x00\x00\x00"  # flags of a compiled file: its source is hashed and compared (PEP 552)


def check_by_content(folder: Path) -> None:
    """Recompile every file below ``folder`` that Python would trust by its time. One call is enough.

    If ``__pycache__`` is not writable, nothing is done: Python writes no compiled files there either. If
    PYTHONDONTWRITEBYTECODE is set, only existing compiled files are replaced.
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
