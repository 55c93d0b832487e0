"""Checkpoints of Hugging Face that stay where they are: their entries in a manifest, and their weights.

An entry records the folder and the bytes and SHA-256 of every file of weights. Nothing is copied. A file that
changes later is refused by name.
"""

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rllc.huggingface_files import weight_files
from rllc.models.huggingface.loading import load, stored
from rllc.models.huggingface.loss import weights_of
from rllc.models.weights import Weights
from rllc.store.checkpoints import CheckpointError
from rllc.store.manifest import sha256


def entry_of(folder: Path, step: int) -> dict[str, Any]:
    """Return the manifest's entry of one checkpoint: folder, files, types of the stored numbers, commit.

    The commit is that of a snapshot in the cache of the hub, else "".
    """
    files = {
        file.name: {"bytes": file.stat().st_size, "sha256": sha256(file)} for file in weight_files(folder)
    }
    digest = hashlib.sha256("".join(each["sha256"] for each in files.values()).encode()).hexdigest()
    types = sorted({dtype for file in weight_files(folder) for _, dtype in stored(file)})
    commit = folder.name if folder.parent.name == "snapshots" else ""
    return {
        "step": step, "folder": str(folder), "files": files, "sha256": digest, "dtypes": types,
        "commit": commit,
    }  # fmt: skip


def registered_weights(entry: dict[str, Any]) -> dict[str, Tensor]:
    """Return the weights of an entry, float32. Raises CheckpointError where its files changed since."""
    folder = Path(entry["folder"])
    try:
        present = {file.name: file for file in weight_files(folder)}
    except ValueError as error:
        raise CheckpointError(str(error)) from error
    if present.keys() != entry["files"].keys():
        raise CheckpointError(
            f"{folder} holds the weights {', '.join(present)}, and held {', '.join(entry['files'])} when it "
            "was registered: restore them, or run again from the start of the experiment"
        )
    for name, recorded in entry["files"].items():
        file = present[name]
        if file.stat().st_size != recorded["bytes"] or sha256(file) != recorded["sha256"]:
            raise CheckpointError(
                f"{file} has changed since it was registered: restore it, or call snakemake again, which "
                "registers it anew and measures it again"
            )
    try:
        return weights_of(load(folder))
    except ValueError as error:
        raise CheckpointError(str(error)) from error


def check_finite(weights: Weights, folder: Path) -> None:
    """Raise CheckpointError where a weight is not finite."""
    for name, weight in weights.items():
        if wrong := int((~torch.isfinite(weight)).sum()):
            raise CheckpointError(
                f"{folder} cannot be used: {name} is NaN or infinite in {wrong} of {weight.numel()} values. "
                "Leave this step out, or get the files again"
            )
