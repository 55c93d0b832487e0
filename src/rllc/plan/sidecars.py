"""Before a run: manifests whose large files are gone or cut short are removed, so they are remade."""

import json
from pathlib import Path
from typing import Any


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


def drop_broken(results: Path, *, dry: bool = False) -> list[str]:
    """Remove every broken manifest under the results folder; returns what is wrong with each.

    Only sizes are compared here (a stat per file); every job compares the SHA-256 of what it reads.

    dry  say what is wrong, remove nothing
    """
    problems = []
    for pattern in ("corpora/*.json", "blocks/*/*.json", "*/checkpoints/seed*/from*.json"):
        for manifest in sorted(results.glob(pattern)):
            problem = None if manifest.name.startswith(".") else broken(manifest)
            if problem:
                problems.append(problem)
                if not dry:
                    manifest.unlink()
    return problems


def _entries(content: Any) -> list[dict[str, Any]]:
    """Every {file, bytes, sha256} in a manifest, at its top level or in a list there."""
    if not isinstance(content, dict):
        return []
    candidates = [*content.values(), *(content.get("checkpoints") or [])]
    return [entry for entry in candidates if isinstance(entry, dict) and {"file", "bytes"} <= set(entry)]
