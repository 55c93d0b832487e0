"""What a checkpoint does as a predictor: its loss, by position in the context, and its size."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from rllc.measures.data import Data, Measurement
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

    Returns ``loss``, ``weight_norm``, ``icl_score``, ``icl_score_se`` (sd over contexts of late minus early,
    over the root of their number), ``accuracy``, ``sequence_accuracy`` (no dims) and ``loss_by_position``
    (position; not of contexts without positions). Raises ValueError where batches differ
    in their positions, or do not score ``early`` or ``late``, and where accuracy is asked for of targets that
    are probabilities.
    """
    if not len(batches):
        raise ValueError("no batches to evaluate the loss on: give at least one")
    gap = None if early is None or late is None else (np.atleast_1d(early), np.atleast_1d(late))
    positions, losses, right, gaps = _losses(weights, batches, model, accuracy=accuracy, gap=gap)
    coords = {"position": positions} if losses.ndim else {}
    by_position = xr.DataArray(losses, coords, list(coords))
    found = {"loss": by_position.mean()} | ({"loss_by_position": by_position} if coords else {})
    dataset = xr.Dataset({**found, "weight_norm": weight_norm(weights)})
    if gap is not None:
        first, last = (_mean_at(by_position, *asked) for asked in zip(gap, ("early", "late"), strict=True))
        dataset["icl_score"] = last - first
        dataset["icl_score_se"] = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
    if accuracy:
        dataset["accuracy"], dataset["sequence_accuracy"] = right.mean(), right.all(1).mean()
    return dataset


@torch.no_grad()
def _losses(
    weights: Weights,
    batches: Sequence[Batch],
    model: Model,
    *,
    accuracy: bool,
    gap: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The scored positions, the mean loss at each over all contexts (both [scored]; of contexts without
    positions [0] and one number), and where asked for, else empty: which predictions are right [contexts,
    scored], and the loss at the later positions of ``gap`` minus that at the earlier [contexts].
    """
    total, contexts, where, right, gaps = torch.zeros((), dtype=torch.float64), 0, None, [], [np.empty(0)]
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
        if accuracy and batch.targets.is_floating_point():
            raise ValueError("targets that are probabilities have no accuracy: leave `accuracy` out")
        if accuracy:
            right.append((outputs.argmax(-1) == batch.targets).cpu().numpy())
        if gap is not None:
            chosen = [torch.from_numpy(np.isin(where.cpu(), asked)) for asked in gap]
            early, late = (losses[:, each].mean(1) for each in chosen)
            gaps.append((late - early).cpu().numpy())
    every = np.concatenate(right) if right else np.empty((0, 0), dtype=bool)
    assert where is not None  # there is a batch
    return where.cpu().numpy(), (total / contexts).cpu().numpy(), every, np.concatenate(gaps)


def _mean_at(by_position: xr.DataArray, asked: np.ndarray, name: str) -> xr.DataArray:
    scored = by_position["position"].values
    if not asked.size or not np.isin(asked, scored).all():
        raise ValueError(
            f"{name} = {', '.join(map(str, asked))} is not among the {len(scored)} scored positions "
            f"({scored.min()} .. {scored.max()}): choose positions that the batches score"
        )
    return by_position.sel(position=asked).mean()
