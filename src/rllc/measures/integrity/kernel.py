"""A checkpoint against the two before it: norm, distances, digest of its tensors; its loss on one text."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import torch
import xarray as xr

from rllc.measures.data import Data, Measurement
from rllc.measures.errors import error_of_mean
from rllc.measures.most_affected import Contexts
from rllc.models.model import Model
from rllc.models.weights import Weights, weight_norm
from rllc.tasks.batch import Batch

BACK = 2  # checkpoints before it that are compared: more are never in memory
NONE = -1  # step of a checkpoint that does not exist


def integrity(data: Data, *, contexts: int, batch_size: int, distribution: str | None = None) -> Measurement:
    """Return ``on_text`` of the first ``contexts`` held-out contexts, and ``against`` the checkpoints before.

    distribution  name of the text, which results record
    """
    texts = data.contexts(contexts)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        batches = Contexts(texts, batch_size, next(iter(weights.values())).device)
        return on_text(weights, batches, model=model).merge(against(weights, data.before(step, BACK)))

    return measure


@torch.no_grad()
def on_text(weights: Weights, batches: Iterable[Batch], *, model: Model) -> xr.Dataset:
    """Return ``loss``, the mean over contexts and positions, and ``loss_se``, its error over contexts."""
    rows = [model.losses(model.outputs(weights, batch), batch.targets).double().mean(1) for batch in batches]
    of_contexts = torch.cat(rows).cpu().numpy()
    return xr.Dataset({"loss": of_contexts.mean(), "loss_se": error_of_mean(of_contexts)})


def against(weights: Weights, before: Sequence[tuple[int, Weights]]) -> xr.Dataset:
    """Return norm and digest of a checkpoint, and its distances to those before it.

    before  step and weights of the last checkpoints before it, the latest first

    Returns ``norm``, ``distance_to_previous`` and ``distance_to_second_previous`` (Euclidean, of all weights;
    NaN where there is no such checkpoint), ``previous_step`` (``NONE`` for the first) and ``digest``.
    """
    apart = [distance(weights, earlier) for _, earlier in before[:BACK]]
    first, second = [*apart, *[np.nan] * BACK][:BACK]
    return xr.Dataset(
        {
            "norm": weight_norm(weights),
            "distance_to_previous": first,
            "distance_to_second_previous": second,
            "previous_step": np.int64(before[0][0] if before else NONE),
            "digest": digest(weights),
        }
    )


def distance(one: Weights, other: Weights) -> float:
    """Return the Euclidean distance of two checkpoints of a model, summed in float64."""
    total = 0.0
    for name, weight in other.items():  # one difference in memory at a time
        apart = one[name].detach().cpu() - weight.detach().cpu()
        total += float(torch.linalg.vector_norm(apart, dtype=torch.float64)) ** 2
    return total**0.5


def digest(weights: Weights) -> str:
    """Return the SHA-256 of names, types, shapes and values of all tensors, whatever files hold them."""
    told = hashlib.sha256()
    for name in sorted(weights):
        values = weights[name].detach().cpu().contiguous().numpy()
        told.update(f"{name} {values.dtype} {values.shape}".encode())
        told.update(values.data)
    return told.hexdigest()
