"""Cells: the results of a job's single checkpoints, which are kept while it runs.

A job that is interrupted, or gains a checkpoint, computes only the missing cells."""

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
# Names of a cell, and of a cell that a killed job was writing. Other files in the folder are left alone.
CELL = re.compile(r"\d{7}\.[0-9a-f]{16}\.nc|\.\d{7}\.[0-9a-f]{16}\.nc\..+")


def over_steps(
    measure: Callable[[dict[str, Any]], xr.Dataset],
    *,
    checkpoints: list[dict[str, Any]],
    made_by: dict[str, Any],
    output: Path,
) -> xr.Dataset:
    """Return ``measure`` of every checkpoint, joined along ``step``.

    checkpoints  entries of a manifest: each has ``step`` and ``sha256``, and ``earlier``, the digests of the
                 checkpoints before it that its numbers depend on, if there are any
    made_by      everything else that the numbers depend on (settings, code, digests of inputs); a finished
                 cell is reused only if all of it is the same
    output       the job's result; its cells are kept in a folder beside it
    """
    folder = output.with_suffix(".cells")
    kept: set[Path] = set()
    pieces: list[xr.Dataset] = []
    bar = tqdm(checkpoints, desc=f"{output.parent.name} {output.stem}", unit="checkpoint", mininterval=5)
    for checkpoint in bar:
        of = [checkpoint["sha256"], *checkpoint.get("earlier", ())]
        key = json.dumps([*of, checkpoint["step"], made_by], sort_keys=True, default=str)
        cell = folder / f"{checkpoint['step']:07d}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.nc"
        dataset = _kept(cell)
        if dataset is None:
            write_dataset(measure(checkpoint).expand_dims(step=[checkpoint["step"]]), cell)
            dataset = read_dataset(cell)  # like a kept cell, so that a resumed job writes the same bytes
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
