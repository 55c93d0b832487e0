"""What a checkpoint does as a predictor: its loss, by position in the context, and its size."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr

from rllc.measures.data import Data, Measurement
from rllc.measures.errors import BatchedErrors, block_means, error_of_mean
from rllc.models.model import Model
from rllc.models.weights import Weights, weight_norm
from rllc.tasks.batch import Batch


def metrics(
    data: Data,
    *,
    contexts: int,
    batch_size: int,
    icl_early: tuple[int, int] | None,
    icl_late: tuple[int, int] | None,
    accuracy: bool,
) -> Measurement:
    """``evaluate`` on held-out contexts, all positions scored; ranges of positions without their end."""
    batches = data.batches("metrics", count=contexts // batch_size, batch_size=batch_size, scored=None)
    early, late = (positions and range(*positions) for positions in (icl_early, icl_late))

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        return evaluate(weights, batches, model=model, early=early, late=late, accuracy=accuracy)

    return measure


def evaluate(
    weights: Weights,
    batches: Sequence[Batch],
    *,
    model: Model,
    early: int | Sequence[int] | None = None,
    late: int | Sequence[int] | None = None,
    accuracy: bool = False,
) -> xr.Dataset:
    """Loss, loss by position, weight norm and, where asked for, in-context learning score and accuracy.

    ``icl_score`` = loss at ``late`` minus loss at ``early`` (arXiv 2402.02364, App. B.3; 2410.02984, App. D).
    Both are positions p, counted from 0, of which the prediction of token p + 1 is scored: the papers'
    50th and 500th token are 48 and 498. Of several positions the mean loss is taken, which a small
    evaluation set needs.

    batches      all scoring the same positions, as a rule all of them; targets may be probabilities
    early, late  None: no score
    accuracy     also the share of predictions, and of whole contexts, that are right; targets are tokens

    Returns ``loss``, ``weight_norm``, ``icl_score``, ``accuracy``, ``sequence_accuracy`` (no dims) and
    ``loss_by_position`` (position; not of contexts without positions). All but ``weight_norm`` have ``_se``,
    their standard error over contexts; that of ``icl_score`` is of late minus early in each context. The
    checkpoints of a model have the same contexts, so their errors are not independent: ``loss_by_block`` and
    ``icl_score_by_block`` (block), means over blocks of contexts, give the errors of differences.

    Raises ValueError where batches differ in their positions, or do not score ``early`` or ``late``, and
    where accuracy is asked for of targets that are probabilities.
    """
    if not len(batches):
        raise ValueError("no batches to evaluate the loss on: give at least one")
    gap = None if early is None or late is None else (np.atleast_1d(early), np.atleast_1d(late))
    losses = _losses(weights, batches, model, accuracy=accuracy, gap=gap)
    coords = {"position": losses.positions} if losses.mean.ndim else {}
    by_position, errors = (xr.DataArray(each, coords, list(coords)) for each in (losses.mean, losses.error))
    found = {"loss": by_position.mean(), "loss_se": error_of_mean(losses.of_contexts)}
    found["loss_by_block"] = ("block", block_means(losses.of_contexts))
    if coords:
        found |= {"loss_by_position": by_position, "loss_by_position_se": errors}
    dataset = xr.Dataset({**found, "weight_norm": weight_norm(weights)})
    if gap is not None:
        first, last = (_mean_at(by_position, *asked) for asked in zip(gap, ("early", "late"), strict=True))
        dataset["icl_score"] = last - first
        dataset["icl_score_se"] = error_of_mean(losses.gaps)
        dataset["icl_score_by_block"] = ("block", block_means(losses.gaps))
    if accuracy:
        right = losses.right
        dataset["accuracy"], dataset["sequence_accuracy"] = right.mean(), right.all(1).mean()
        dataset["accuracy_se"] = error_of_mean(right.mean(1))
        dataset["sequence_accuracy_se"] = error_of_mean(right.all(1).astype(float))
    return dataset


class _Losses(NamedTuple):
    """Losses of all contexts. Contexts without positions have one prediction and no dim of positions.

    positions    scored positions: [scored]
    mean, error  loss at each over contexts, and its standard error: [scored]
    of_contexts  mean loss of each context: [context]
    right        whether each prediction is right, where asked for: [context, scored]
    gaps         loss at the later positions minus loss at the earlier, where asked for: [context]
    """

    positions: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    of_contexts: np.ndarray
    right: np.ndarray
    gaps: np.ndarray


@torch.no_grad()
def _losses(
    weights: Weights,
    batches: Sequence[Batch],
    model: Model,
    *,
    accuracy: bool,
    gap: tuple[np.ndarray, np.ndarray] | None,
) -> _Losses:
    """Return the losses of all contexts; ``gap`` holds the earlier and the later positions."""
    total, contexts, where, right, gaps = torch.zeros((), dtype=torch.float64), 0, None, [], [np.empty(0)]
    by_position, of_contexts = BatchedErrors(), []
    for batch in batches:
        if where is not None and not torch.equal(batch.positions, where):
            raise ValueError(
                "batches score different positions: for losses by position make them with scored=None"
            )
        where = batch.positions
        outputs = model.outputs(weights, batch)
        losses = model.losses(outputs, batch.targets).double()
        total = total + losses.sum(0)
        contexts += len(batch.contexts)
        by_position.add(losses)
        of_contexts.append(losses.reshape(len(losses), -1).mean(1))
        if accuracy and batch.targets.is_floating_point():
            raise ValueError("targets that are probabilities have no accuracy: leave `accuracy` out")
        if accuracy:
            right.append((outputs.argmax(-1) == batch.targets).cpu().numpy())
        if gap is not None:
            chosen = [torch.from_numpy(np.isin(where.cpu(), asked)) for asked in gap]
            early, late = (losses[:, each].mean(1) for each in chosen)
            gaps.append((late - early).cpu().numpy())
    assert where is not None  # there is a batch
    return _Losses(
        positions=where.cpu().numpy(),
        mean=(total / contexts).cpu().numpy(),
        error=by_position.errors(),
        of_contexts=torch.cat(of_contexts).cpu().numpy(),
        right=np.concatenate(right) if right else np.empty((0, 0), dtype=bool),
        gaps=np.concatenate(gaps),
    )


def _mean_at(by_position: xr.DataArray, asked: np.ndarray, name: str) -> xr.DataArray:
    scored = by_position["position"].values
    if not asked.size or not np.isin(asked, scored).all():
        raise ValueError(
            f"{name} = {', '.join(map(str, asked))} is not among the {len(scored)} scored positions "
            f"({scored.min()} .. {scored.max()}): choose positions that the batches score"
        )
    return by_position.sel(position=asked).mean()
