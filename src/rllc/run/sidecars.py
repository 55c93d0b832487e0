"""Before a run: results that are cut short, and manifests of such files, are removed, so they are remade."""

import json
import struct
from pathlib import Path
from typing import Any

MANIFESTS = ("corpora/*.json", "blocks/*/*.json", "*/checkpoints/seed*/from*.json")
DATASETS = ("*.nc", "*/*.nc", "*/parts/*/*.nc")
SIGNATURE = b"\x89HDF\r\n\x1a\n"


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

    The superblock of an HDF5 file (version 2 or 3, as netCDF-4 writes it) holds the address of its end:
    48 bytes are read, whatever the file's size.
    """
    with dataset.open("rb") as file:
        head = file.read(48)
    size = dataset.stat().st_size
    if len(head) < 48 or not head.startswith(SIGNATURE):
        return f"{dataset} has {size} bytes and is no netCDF-4 file"
    if head[8] not in (2, 3) or head[9] != 8:
        return None
    (end,) = struct.unpack_from("<Q", head, 28)
    return f"{dataset} has {size} bytes of {end}" if size < end else None


def drop_broken(results: Path, *, dry: bool = False) -> list[str]:
    """Remove every broken manifest and dataset under the results folder; returns what is wrong with each.

    Only sizes are compared here (a few bytes per file); every job compares the SHA-256 of what it reads.

    dry  say what is wrong, remove nothing
    """
    problems = []
    for patterns, look in ((MANIFESTS, broken), (DATASETS, cut_short)):
        for file in sorted(path for pattern in patterns for path in results.glob(pattern)):
            problem = None if file.name.startswith(".") else look(file)
            if problem:
                problems.append(problem)
                if not dry:
                    file.unlink()
    return problems


def _entries(content: Any) -> list[dict[str, Any]]:
    """Every {file, bytes, sha256} in a manifest, at its top level or in a list there."""
    if not isinstance(content, dict):
        return []
    candidates = [*content.values(), *(content.get("checkpoints") or [])]
    return [entry for entry in candidates if isinstance(entry, dict) and {"file", "bytes"} <= set(entry)]
