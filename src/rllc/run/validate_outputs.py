"""Check before a run that outputs are usable, from a few bytes of each file.

Only files that a rule makes are checked. A file can be cut short (a full disk, a killed copy), or another
program may have written it. Each job compares the SHA-256 of its inputs. Here only sizes and ends are
compared.
"""

import json
import stat
import struct
from pathlib import Path
from typing import Any

from rllc.checksum import EARLIER, LENGTH, MARK

SIGNATURE = b"\x89HDF\r\n\x1a\n"
# The last bytes of a complete file, by its ending.
ENDS = {
    ".png": b"IEND\xaeB`\x82",
    ".pdf": b"%%EOF\n",
    ".gif": b"\x00;",
    ".txt": b"\n",
    ".json": b"}\n",
}
TOKENIZERS = "tokenizers"  # the folder whose .json files are tokenizers; all others are manifests


def problem(file: Path) -> str | None:
    """Return why an output cannot be used, or None if it can. Raises FileNotFoundError if it is missing."""
    if not stat.S_ISREG(file.stat().st_mode):
        return f"{file} is a folder or a device, and a file is made there"
    try:
        if file.suffix == ".nc":
            return _of_dataset(file)
        if file.suffix == ".json" and file.parent.name != TOKENIZERS:
            return _of_manifest(file)
        if file.suffix in ENDS:
            return _of_end(file)
    except FileNotFoundError:
        raise
    except OSError as error:
        return f"{file} cannot be read ({error.strerror})"
    return None


def _of_dataset(file: Path) -> str | None:
    """Compare the size of a netCDF-4 file with the one in its header, and look for the seal behind it.

    The superblock of an HDF5 file (version 2 or 3, as netCDF-4 writes it) holds the address of its end.
    Every dataset of this workflow has its seal there.
    """
    head, tail, size = _head(file, 48), _tail(file, len(MARK)), file.stat().st_size
    if len(head) < 48 or not head.startswith(SIGNATURE):
        return f"{file} has {size} bytes and is no netCDF-4 file"
    if head[8] in (2, 3) and head[9] == 8:
        (end,) = struct.unpack_from("<Q", head, 28)
        if size < end or (end < size < end + LENGTH):
            return f"{file} has {size} bytes of {end + LENGTH}"
    if tail == EARLIER:
        return f"{file} was made by an earlier version"
    return None if tail == MARK else f"{file} has no seal: something else wrote it"


def _of_manifest(file: Path) -> str | None:
    """Compare the files that a manifest names by existence and size."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return f"{file} is not readable"
    entries = _entries(content)
    if not entries:
        return f"{file} names no file: something else wrote it"
    for entry in entries:
        named = file.parent / str(entry["file"])
        size = named.stat().st_size if named.is_file() else None
        if size != entry["bytes"]:
            found = "is missing" if size is None else f"has {size} bytes"
            return f"{named} {found}, {file.name} says {entry['bytes']}"
    return None


def _of_end(file: Path) -> str | None:
    """Compare the last bytes of a picture, a caption or a tokenizer with those of a complete one."""
    end = ENDS[file.suffix]
    return None if _tail(file, len(end)) == end else f"{file} is cut short: it does not end as it should"


def _head(file: Path, length: int) -> bytes:
    with file.open("rb") as stream:
        return stream.read(length)


def _tail(file: Path, length: int) -> bytes:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - length))
        return stream.read()


def _entries(content: Any) -> list[dict[str, Any]]:
    """Return every {file, bytes, sha256} in a manifest, at its top level or in a list there."""
    if not isinstance(content, dict):
        return []
    checkpoints = content.get("checkpoints")
    candidates = [*content.values(), *(checkpoints if isinstance(checkpoints, list) else [])]
    return [entry for entry in candidates if isinstance(entry, dict) and {"file", "bytes"} <= set(entry)]
