"""The training loss of an experiment at every update, not only at checkpoints. Imports no torch."""

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

    Raises ValueError if the manifest names no losses, as for imported checkpoints. Raises UnreadableResult if
    the file differs from the manifest.
    """
    entry = manifests.read(manifest).get("training_loss")
    if entry is None:
        raise ValueError(
            f"{manifest} has no training loss: expected checkpoints of a training, not imported ones"
        )
    return load(manifests.verified(manifest, entry).read_bytes())["losses"]


def by_step(last: Mapping[int, Path], *, unit: str) -> xr.Dataset:
    """Return ``loss`` (seed, step), float32: the minibatch loss of the update that follows ``step``.

    last  seed -> manifest of the last segment of its training
    unit  of the losses of the task
    """
    losses = np.stack([training_losses(manifest) for manifest in last.values()])
    coords = {"seed": list(last), "step": np.arange(losses.shape[1])}
    words = {"long_name": "training loss of each update", "comment": WHAT, "units": unit}
    return xr.Dataset({"loss": (("seed", "step"), losses, words)}, coords)
