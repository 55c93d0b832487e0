"""Blocks of tokens on disk."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from rllc.record import manifest as manifests
from rllc.tasks.language.arrow import read_table
from rllc.tasks.language.blocks import as_array


def read_blocks(blocks: Path, side: str) -> pa.Table:
    """One side of the blocks that a manifest stands for: ``train`` or ``held_out``."""
    return read_table(manifests.verified(blocks, manifests.read(blocks)[side]))


def contexts(blocks: Path, side: str) -> np.ndarray:
    """The same as integers [blocks, context]."""
    return as_array(read_blocks(blocks, side))


def side_digest(blocks: Path, side: str) -> str:
    """SHA-256 of one side's tokens: what a result depends on, whatever the other side holds."""
    return manifests.read(blocks)[side]["sha256"]
