"""Small files that stand for large ones.

Snakemake compares contents only up to 1 MB. Corpora, blocks and checkpoints are larger. So a rule declares a
manifest: a JSON file with the name, size and SHA-256 of every large file beside it. Jobs that need a large
file take its manifest as input.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from rllc.store.atomic_write import UnreadableResult, write_text


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_entry(path: Path, **facts: Any) -> dict[str, Any]:
    """Return the manifest's entry for one file."""
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": sha256(path), **facts}


def write(manifest: Path, **content: Any) -> None:
    """Write a manifest, keys in order."""
    write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", manifest)


def read(manifest: Path) -> dict[str, Any]:
    """Read a manifest. Raises UnreadableResult if the file is not a manifest."""
    try:
        return json.loads(manifest.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableResult(
            f"{manifest} cannot be read ({error.strerror}): mend that and run again"
        ) from error
    except ValueError as error:
        raise UnreadableResult(
            f"{manifest} is not a readable manifest ({error}); move it away and run again"
        ) from error


def verified(manifest: Path, entry: dict[str, Any]) -> Path:
    """Return the file of an entry, after comparing its bytes with the manifest.

    Raises UnreadableResult if the file is missing, truncated or changed.
    """
    path = manifest.parent / entry["file"]
    if not path.is_file():
        raise UnreadableResult(f"{path} is missing. Run again to make it; nothing else is lost")
    if path.stat().st_size != entry["bytes"]:
        found = f"it has {path.stat().st_size} bytes, the manifest says {entry['bytes']}"
    elif sha256(path) != entry["sha256"]:
        found = "its SHA-256 is not the manifest's"
    else:
        return path
    raise UnreadableResult(f"{path} cannot be used: {found}. Move it away and run again to make it")
