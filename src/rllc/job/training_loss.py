"""The training loss of an experiment: of every update, not of its checkpoints alone."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from rllc.job.segments import training_losses

WHAT = (
    "minibatch loss of the update that follows the step, at the weights before it: of a single minibatch, so "
    "it is noisier than the test loss in metrics.nc"
)


def by_step(last: Mapping[int, Path], *, unit: str) -> xr.Dataset:
    """Return ``loss`` (seed, step), float32: of each update its minibatch loss, after ``step`` updates.

    last  seed -> manifest of the last segment of its training
    unit  of the losses of the task
    """
    losses = np.stack([training_losses(manifest) for manifest in last.values()])
    coords = {"seed": list(last), "step": np.arange(losses.shape[1])}
    words = {"long_name": "training loss of each update", "comment": WHAT, "units": unit}
    return xr.Dataset({"loss": (("seed", "step"), losses, words)}, coords)
