"""One job, many checkpoints: each finished one is kept, so a job that is interrupted or gains a
checkpoint computes only what is missing."""

import hashlib
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr
from tqdm import tqdm

from rllc.store.atomic_write import UnreadableResult
from rllc.store.datasets import read_dataset, write_dataset

log = logging.getLogger(__name__)
# The name of a cell, and of one that a killed job was writing. Other files in the folder are somebody else's.
CELL = re.compile(r"\d{7}\.[0-9a-f]{16}\.nc|\.\d{7}\.[0-9a-f]{16}\.nc\..+")


def over_steps(
    measure: Callable[[dict[str, Any]], xr.Dataset],
    *,
    checkpoints: list[dict[str, Any]],
    made_by: dict[str, Any],
    output: Path,
) -> xr.Dataset:
    """``measure`` of every checkpoint, joined along ``step``.

    checkpoints  entries of a manifest: each has ``step`` and ``sha256``
    made_by      everything else the numbers depend on (settings, code, digests of inputs): finished
                 cells are reused only where all of it is the same
    output       the job's result; its cells are kept in a folder beside it
    """
    folder = output.with_suffix(".cells")
    kept: set[Path] = set()
    pieces: list[xr.Dataset] = []
    bar = tqdm(checkpoints, desc=f"{output.parent.name} {output.stem}", unit="checkpoint", mininterval=5)
    for checkpoint in bar:
        key = json.dumps([checkpoint["sha256"], checkpoint["step"], made_by], sort_keys=True, default=str)
        cell = folder / f"{checkpoint['step']:07d}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.nc"
        dataset = _kept(cell)
        if dataset is None:
            write_dataset(measure(checkpoint).expand_dims(step=[checkpoint["step"]]), cell)
            dataset = read_dataset(cell)  # as a kept one is, so that a resumed job writes the same bytes
        kept.add(cell)
        pieces.append(dataset)
    for file in set(folder.iterdir()) - kept:
        if CELL.fullmatch(file.name):
            file.unlink()
    return xr.concat(pieces, "step", data_vars="all", coords="minimal", compat="override", join="exact")


def _kept(cell: Path) -> xr.Dataset | None:
    if not cell.is_file():
        return None
    try:
        return read_dataset(cell)
    except UnreadableResult as error:
        log.warning("%s: computing it again", error)
        return None
