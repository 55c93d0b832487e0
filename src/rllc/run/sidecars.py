"""Before a run: results that are cut short, and manifests of such files, are removed, so they are remade."""

import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rllc.seal import LENGTH, MARK

MANIFESTS = ("corpora/*.json", "blocks/*/*.json", "*/checkpoints/seed*/from*.json")
DATASETS = ("*.nc", "*/*.nc", "*/parts/*/*.nc")
SIGNATURE = b"\x89HDF\r\n\x1a\n"
# How a whole file ends, by what it is: pictures, captions, tokenizers.
ENDS = {
    ".png": b"IEND\xaeB`\x82",
    ".pdf": b"%%EOF\n",
    ".gif": b"\x00;",
    ".txt": b"\n",
    ".json": b"}\n",
}


def broken(manifest: Path) -> str | None:
    """What is wrong with the files a manifest names, by existence and size; None where nothing is."""
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{manifest} is not readable"
    for entry in _entries(content):
        file = manifest.parent / entry["file"]
        size = file.stat().st_size if file.is_file() else None
        if size != entry["bytes"]:
            found = "is missing" if size is None else f"has {size} bytes"
            return f"{file} {found}, {manifest.name} says {entry['bytes']}"
    return None


def cut_short(dataset: Path) -> str | None:
    """What is wrong with a netCDF-4 file by its own account of its size; None where nothing is.

    The superblock of an HDF5 file (version 2 or 3, as netCDF-4 writes it) holds the address of its end;
    behind it a file of ours has its seal. A few bytes are read, whatever the size.
    """
    head, tail, size = _head(dataset, 48), _tail(dataset, len(MARK)), dataset.stat().st_size
    if len(head) < 48 or not head.startswith(SIGNATURE):
        return f"{dataset} has {size} bytes and is no netCDF-4 file"
    if head[8] not in (2, 3) or head[9] != 8:
        return None
    (end,) = struct.unpack_from("<Q", head, 28)
    if size < end or (end < size and tail != MARK):
        return f"{dataset} has {size} bytes of {end + LENGTH}"
    return None


def unended(file: Path) -> str | None:
    """What is wrong with a picture, a caption or a tokenizer by how it ends; None where nothing is."""
    end = ENDS[file.suffix]
    return None if _tail(file, len(end)) == end else f"{file} is cut short: it does not end as it should"


def broken_results(results: Path, others: Iterable[str]) -> dict[Path, str]:
    """Every broken manifest, dataset and other result -> what is wrong with it.

    Only sizes and ends are looked at here (a few bytes per file); every job compares the SHA-256 of the data
    that it reads.

    others  pictures, captions and tokenizers of the study, whether or not they are there
    """
    looks = [(file, broken) for pattern in MANIFESTS for file in sorted(results.glob(pattern))]
    looks += [(file, cut_short) for pattern in DATASETS for file in sorted(results.glob(pattern))]
    looks += [(Path(file), unended) for file in others if Path(file).is_file()]
    found = {file: look(file) for file, look in looks if not file.name.startswith(".")}
    return {file: problem for file, problem in found.items() if problem}


def _head(file: Path, length: int) -> bytes:
    with file.open("rb") as stream:
        return stream.read(length)


def _tail(file: Path, length: int) -> bytes:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - length))
        return stream.read()


def _entries(content: Any) -> list[dict[str, Any]]:
    """Every {file, bytes, sha256} in a manifest, at its top level or in a list there."""
    if not isinstance(content, dict):
        return []
    candidates = [*content.values(), *(content.get("checkpoints") or [])]
    return [entry for entry in candidates if isinstance(entry, dict) and {"file", "bytes"} <= set(entry)]
