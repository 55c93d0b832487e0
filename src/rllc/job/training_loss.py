"""The training loss of an experiment: of every update, not of its checkpoints alone. No torch."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr
from safetensors.numpy import load

from rllc.store import manifest as manifests

WHAT = (
    "minibatch loss of the update that follows the step, at the weights before it: of a single minibatch, so "
    "it is noisier than the test loss in metrics.nc"
)


def training_losses(manifest: Path) -> np.ndarray:
    """Return the minibatch loss of every update up to the last step of a segment: float32 [step].

    Raises ValueError where the manifest names none, as that of imported checkpoints, and UnreadableResult
    where the file is not what the manifest says.
    """
    entry = manifests.read(manifest).get("training_loss")
    if entry is None:
        raise ValueError(f"{manifest} has no training loss: expected checkpoints that were trained here")
    return load(manifests.verified(manifest, entry).read_bytes())["losses"]


def by_step(last: Mapping[int, Path], *, unit: str) -> xr.Dataset:
    """Return ``loss`` (seed, step), float32: of each update its minibatch loss, after ``step`` updates.

    last  seed -> manifest of the last segment of its training
    unit  of the losses of the task
    """
    losses = np.stack([training_losses(manifest) for manifest in last.values()])
    coords = {"seed": list(last), "step": np.arange(losses.shape[1])}
    words = {"long_name": "training loss of each update", "comment": WHAT, "units": unit}
    return xr.Dataset({"loss": (("seed", "step"), losses, words)}, coords)
