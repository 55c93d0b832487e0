"""Blocks of tokens on disk."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from rllc.store import manifest as manifests
from rllc.store.whole import whole
from rllc.tasks.arrow import as_array, read_table, write_table
from rllc.tasks.batch import Examples


def write_blocks(blocks: Path, sides: Iterable[tuple[str, pa.Table]], **facts: object) -> None:
    """Write sides, by name, beside the manifest that stands for them; ``facts`` go into the manifest.

    A table holds ``input_ids``, and ``targets`` where what is predicted is not the next token.
    """
    entries = {}
    for side, table in sides:
        file = blocks.with_name(f"{blocks.stem}.{side}.arrow")
        with whole(file) as temporary:
            write_table(table, temporary)
        entries[side] = manifests.file_entry(file, blocks=table.num_rows)
    manifests.write(blocks, **facts, **entries)


def read_blocks(blocks: Path, side: str) -> pa.Table:
    """One side of the blocks that a manifest stands for: ``train`` or ``held_out``."""
    return read_table(manifests.verified(blocks, manifests.read(blocks)[side]))


def examples(blocks: Path, side: str) -> Examples:
    """The same as arrays, with the positions that a task scores."""
    table, scored = read_blocks(blocks, side), manifests.read(blocks).get("scored")
    return Examples(
        as_array(table),
        None if scored is None else np.arange(*scored),
        as_array(table, "targets") if "targets" in table.column_names else None,
    )


def side_digest(blocks: Path, side: str) -> str:
    """SHA-256 of one side's tokens: what a result depends on, whatever the other side holds."""
    return manifests.read(blocks)[side]["sha256"]
