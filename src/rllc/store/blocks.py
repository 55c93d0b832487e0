"""Blocks of tokens or vectors on disk."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rllc.store import manifest as manifests
from rllc.store.atomic_write import whole
from rllc.tasks.arrow import as_array, as_lists, read_manifest, read_table, write_table
from rllc.tasks.batch import Examples


def write_blocks(blocks: Path, sides: Iterable[tuple[str, pa.Table]], **facts: object) -> None:
    """Write sides, by name, beside the manifest that stands for them; ``facts`` go into the manifest.

    A table holds ``input_ids`` or ``vectors``, and ``targets`` where what is predicted is not the next token.
    """
    entries = {}
    for side, table in sides:
        file = blocks.with_name(f"{blocks.stem}.{side}.arrow")
        with whole(file) as temporary:
            write_table(table, temporary)
        text = {name: each for name, each in _about(table).items() if name in ("documents", "tokens")}
        entries[side] = manifests.file_entry(file, blocks=table.num_rows, distinct=_distinct(table), **text)
    manifests.write(blocks, **facts, **entries)


def write_examples(blocks: Path, every: Examples, *, train: int | None, settings: dict[str, Any]) -> None:
    """Write generated examples: the first ``train`` are trained on, the others held out.

    train     None: all are held out, and what is trained on is generated anew in every step
    settings  what the generator was told
    """
    columns = {_contexts(every.contexts.dtype.kind == "f"): every.contexts}
    columns |= {} if every.targets is None else {"targets": every.targets}
    table = pa.table({name: as_lists(column) for name, column in columns.items()})
    sides = {"held_out": table} if train is None else {"train": table[:train], "held_out": table[train:]}
    facts = {} if every.positions is None else {"scored": every.positions.tolist()}
    if train is None:
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        facts["train"] = {"settings": settings, "sha256": digest}
    write_blocks(blocks, sides.items(), **facts)


def generated_settings(blocks: Path) -> dict[str, Any] | None:
    """What the generator of minibatches is told, where they are not read from a file."""
    return manifests.read(blocks)["train"].get("settings")


def read_blocks(blocks: Path, side: str) -> pa.Table:
    """One side of the blocks that a manifest stands for: ``train`` or ``held_out``."""
    return read_table(manifests.verified(blocks, manifests.read(blocks)[side]))


def examples(blocks: Path, side: str) -> Examples:
    """The same as arrays, with the positions that a task scores."""
    table, scored = read_blocks(blocks, side), manifests.read(blocks).get("scored")
    return Examples(
        _contexts_of(table),
        None if scored is None else np.asarray(scored, dtype=np.int64),
        as_array(table, "targets") if "targets" in table.column_names else None,
    )


def _contexts(vectors: bool) -> str:
    """Name of their column: that of tokens is the one that ``datasets`` and tokenizers use."""
    return "vectors" if vectors else "input_ids"


def held_out(blocks: Path) -> dict[str, Any]:
    """What there is to measure on: different ``contexts``; of text also ``documents`` and ``tokens``, and how
    many documents were ``read`` from which ``source``."""
    content = manifests.read(blocks)
    side = content["held_out"]
    text = {name: side[name] for name in ("documents", "tokens") if name in side}
    return {"contexts": side["distinct"], **text, **content.get("text", {})}


def _contexts_of(table: pa.Table) -> np.ndarray:
    return as_array(table, _contexts("vectors" in table.column_names))


def _distinct(table: pa.Table) -> int:
    """How many contexts differ from each other."""
    return len({hashlib.blake2b(row, digest_size=16).digest() for row in _contexts_of(table)})


def _about(table: pa.Table) -> dict[str, Any]:
    """The manifest of a table of text; of generated examples there is none."""
    return read_manifest(table) if table.schema.metadata else {}


def side_digest(blocks: Path, side: str) -> str:
    """SHA-256 of one side: what a result depends on, whatever the other side holds."""
    return manifests.read(blocks)[side]["sha256"]
