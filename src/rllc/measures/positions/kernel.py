"""What positions are to a checkpoint: loss without W_pos, and its shape (arXiv 2402.02364, App. B.4)."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from rllc.measures.architecture import position_embedding_of
from rllc.measures.data import Data, Measurement
from rllc.measures.errors import BatchedErrors, error_of_mean
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch

COMPONENTS = 3


def positions(data: Data, *, contexts: int, batch_size: int, at: list[int]) -> Measurement:
    """Loss with and without W_pos on the contexts of ``metrics``, and the principal components of W_pos."""
    batches = data.batches("metrics", count=contexts // batch_size, batch_size=batch_size, scored=None)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        name, longest = position_embedding_of(model)
        shape = principal_components(weights[name][-longest:].cpu().numpy())
        return ablated(weights, batches, model=model, at=at).merge(shape)

    return measure


@torch.no_grad()
def ablated(weights: Weights, batches: Sequence[Batch], *, model: Model, at: Sequence[int]) -> xr.Dataset:
    """Loss with W_pos and with zeros in its place; in a shortformer only queries and keys lose it.

    at  positions, of which those that are scored are kept

    Returns ``loss``, ``ablated_loss`` and ``position_gain``, the second less the first (no dims), means over
    all scored positions, and ``loss_at``, ``ablated_loss_at`` (at), nats/token. Each has ``_se``, its
    standard error over contexts. That of ``position_gain`` is paired: both losses are of the same contexts.
    """
    scored = batches[0].positions.cpu().numpy()
    name, _ = position_embedding_of(model)
    without = dict(weights) | {name: torch.zeros_like(weights[name])}
    kept = np.isin(scored, at)
    found, of_contexts = {}, {}
    for ending, given in (("", weights), ("ablated_", without)):
        means, rows, at_positions = [], [], BatchedErrors()
        for batch in batches:
            losses = model.losses(model.outputs(given, batch), batch.targets).double()
            means.append(losses.mean(0))
            rows.append(losses.mean(1))
            at_positions.add(losses[:, torch.from_numpy(kept).to(losses.device)])
        by_position = torch.stack(means).mean(0).cpu().numpy()
        of_contexts[ending] = torch.cat(rows).cpu().numpy()
        found[f"{ending}loss"] = by_position.mean()
        found[f"{ending}loss_se"] = error_of_mean(of_contexts[ending])
        found[f"{ending}loss_at"] = ("at", by_position[kept])
        found[f"{ending}loss_at_se"] = ("at", at_positions.errors())
    found["position_gain"] = found["ablated_loss"] - found["loss"]
    found["position_gain_se"] = error_of_mean(of_contexts["ablated_"] - of_contexts[""])
    return xr.Dataset(found, coords={"at": scored[kept]})


def principal_components(matrix: np.ndarray) -> xr.Dataset:
    """Scores of the rows of ``matrix`` [position, model] on their first principal components.

    Rows are centred; the score of largest size is positive, which fixes the sign.

    Returns ``position_score`` (component, position), ``explained_variance`` (component), shares, and
    ``position_norm`` (position), the norm of each row as it is.
    """
    matrix = matrix.astype(np.float64)
    left, values, _ = np.linalg.svd(matrix - matrix.mean(0), full_matrices=False)
    scores = (left * values).T[:COMPONENTS]
    largest = np.take_along_axis(scores, np.abs(scores).argmax(1)[:, None], 1)
    total = (values**2).sum()
    shares = values[:COMPONENTS] ** 2 / total if total > 0 else np.full(len(scores), np.nan)
    return xr.Dataset(
        {
            "position_score": (("component", "position"), scores * np.where(largest < 0, -1.0, 1.0)),
            "explained_variance": ("component", shares),
            "position_norm": ("position", np.linalg.norm(matrix, axis=1)),
        },
        coords={"component": np.arange(1, len(scores) + 1), "position": np.arange(len(matrix))},
    )
