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
    """Write sides by name, and beside them their manifest with ``facts``.

    A table holds ``input_ids`` or ``vectors``. It also holds ``targets`` unless the next token is predicted.
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

    train     number of training examples; None: all are held out, and each training step generates new data
    settings  settings of the generator
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
    """Return the settings of the generator of minibatches; None if minibatches are read from a file."""
    return manifests.read(blocks)["train"].get("settings")


def read_blocks(blocks: Path, side: str) -> pa.Table:
    """Return one side of the blocks of a manifest: ``train`` or ``held_out``."""
    return read_table(manifests.verified(blocks, manifests.read(blocks)[side]))


def examples(blocks: Path, side: str) -> Examples:
    """Return one side of the blocks as arrays, with the positions that a task scores."""
    table, scored = read_blocks(blocks, side), manifests.read(blocks).get("scored")
    return Examples(
        _contexts_of(table),
        None if scored is None else np.asarray(scored, dtype=np.int64),
        as_array(table, "targets") if "targets" in table.column_names else None,
    )


def _contexts(vectors: bool) -> str:
    """Return the name of the column of contexts: for tokens, the one that ``datasets`` and tokenizers use."""
    return "vectors" if vectors else "input_ids"


def held_out(blocks: Path) -> dict[str, Any]:
    """Return the amount of held-out data: the number of different ``contexts``.

    For text, also the numbers of ``documents`` and ``tokens``, the number of documents ``read``, and their
    ``source``."""
    content = manifests.read(blocks)
    side = content["held_out"]
    text = {name: side[name] for name in ("documents", "tokens") if name in side}
    return {"contexts": side["distinct"], **text, **content.get("text", {})}


def _contexts_of(table: pa.Table) -> np.ndarray:
    return as_array(table, _contexts("vectors" in table.column_names))


def _distinct(table: pa.Table) -> int:
    """Return the number of different contexts."""
    return len({hashlib.blake2b(row, digest_size=16).digest() for row in _contexts_of(table)})


def _about(table: pa.Table) -> dict[str, Any]:
    """Return the facts that a table of text carries; empty for generated examples."""
    return read_manifest(table) if table.schema.metadata else {}


def side_digest(blocks: Path, side: str) -> str:
    """Return the SHA-256 of one side, so that a result does not depend on the other side."""
    return manifests.read(blocks)[side]["sha256"]
