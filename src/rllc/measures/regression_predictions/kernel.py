"""In-context linear regression (arXiv 2402.02364, Sec. 6, App. C): what is predicted at each pair k."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr

from rllc.measures.data import Data, Measurement
from rllc.measures.errors import block_means
from rllc.models.model import Model
from rllc.models.training import rate_factor
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch
from rllc.tasks.regression.predictors import dmmse, ridge
from rllc.tasks.regression.sequences import Regressions, as_examples, draw, task_pool

CHANGES = {"inputs": "input_scale", "tasks": "task_scale"}


def regression_predictions(
    data: Data,
    *,
    sequences: int,
    middle: int,
    scales: Sequence[float],
    law: Mapping[str, Any],
    schedule: Mapping[str, Any],
) -> Measurement:
    """``predicted`` and ``far``, on the same sequences at every checkpoint and for every seed.

    law       of the sequences, as of ``draw``
    schedule  ``learning_rate`` and the arguments of ``rate_factor``: the sum of all rates up to a checkpoint
              says better than its step how far a training is, beside one with other rates
    """
    drawn = draw(sequences, seed=data.stream, **law)
    truth = predictors(drawn, **law)
    changed = {
        (change, g): drawn if g == 1 else draw(sequences, seed=data.stream, **{**law, key: g})
        for change, key in CHANGES.items()
        for g in scales
    }

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        own = predicted(answers(weights, model, drawn), drawn.y, truth, middle=middle)
        off = far(weights, model, changed, scales=scales)
        return xr.merge([own, off]).assign(cumulative_rate=cumulative_rate(step, **schedule))

    return measure


def predictors(drawn: Regressions, *, noise_variance: float, tasks: int | None, **law: Any) -> xr.Dataset:
    """The answers of the best predictors (sequence, k): ``prior`` knows the mean task alone, ``ridge`` is
    Bayes for endless tasks, ``dmmse`` for finitely many."""
    dims, x, y = ("sequence", "k"), drawn.x, drawn.y
    found = {"prior": (dims, np.zeros(y.shape)), "ridge": (dims, ridge(x, y, noise_variance=noise_variance))}
    if tasks is not None:
        pool = task_pool(tasks, dimension=law["dimension"], task_seed=law["task_seed"])
        found["prior"] = (dims, x @ pool.mean(0))
        found["dmmse"] = (dims, dmmse(x, y, pool=pool, noise_variance=noise_variance))
    return xr.Dataset(found, coords={"k": np.arange(1, y.shape[1] + 1)})


def predicted(found: np.ndarray, y: np.ndarray, truth: xr.Dataset, *, middle: int) -> xr.Dataset:
    """What a model's predictions come to, beside those of the best predictors.

    found, y  predictions and answers [sequence, K]
    truth     as of ``predictors``
    middle    the pair between the early and the late part of a sequence

    Returns ``mse``, ``mse_se``, ``prediction_square``, ``ridge_mse`` (k); ``icl_early`` = mse at ``middle``
    less that at the first pair, ``icl_late`` = mse at the last less that at ``middle``, ``icl_score`` = their
    sum; ``loss_over_zero``, the mean loss less that of the zero predictor; each of these with ``_se`` over
    sequences; ``delta_<predictor>``, the mean squared difference from it; ``delta_zero``, that from 0. The
    scores, ``loss_over_zero``, ``delta_zero`` and ``delta_prior`` have ``_by_block``, of blocks of sequences.
    """
    squares = xr.DataArray((found - y) ** 2, truth["ridge"].coords, truth["ridge"].dims)
    first, at, last = (squares.sel(k=k) for k in (1, middle, y.shape[1]))
    gaps = {"icl_early": at - first, "icl_late": last - at, "icl_score": last - first}
    gaps["loss_over_zero"] = (squares - y**2).mean("k")
    apart = {name: ((best - found) ** 2).mean("k") for name, best in truth.items()}
    apart["zero"] = xr.DataArray((found**2).mean(1), dims="sequence")
    table = {
        "mse": squares.mean("sequence"),
        "mse_se": _error(squares),
        "prediction_square": (squares.dims[1:], (found**2).mean(0)),
        "ridge_mse": ((truth["ridge"] - y) ** 2).mean("sequence"),
    }
    for name, gap in gaps.items():
        table |= {name: gap.mean("sequence"), f"{name}_se": _error(gap), f"{name}_by_block": _blocks(gap)}
    table |= {f"delta_{name}": each.mean() for name, each in apart.items()}
    table |= {f"delta_{name}_by_block": _blocks(apart[name]) for name in ("zero", "prior")}
    return xr.Dataset(table).drop_vars("k").assign_coords(k=truth["k"])


def far(
    weights: Weights,
    model: Model,
    changed: Mapping[tuple[str, float], Regressions],
    *,
    scales: Sequence[float],
) -> xr.Dataset:
    """Out of distribution: inputs, or tasks, times g, with answers made of these.

    Returns ``far_loss`` (the mean loss) and ``far_icl`` (that at the last pair less that at the first), both
    over g^2, as the answers' variance grows, and ``far_prediction``, the mean |prediction|: (change, scale).
    """
    table = np.empty((3, len(CHANGES), len(scales)))
    for i, change in enumerate(CHANGES):
        for j, g in enumerate(scales):
            drawn = changed[change, g]
            found = answers(weights, model, drawn)
            mse = ((found - drawn.y) ** 2).mean(0)
            table[:, i, j] = mse.mean() / g**2, (mse[-1] - mse[0]) / g**2, abs(found).mean()
    dims, coords = ("change", "scale"), {"change": list(CHANGES), "scale": np.asarray(scales, dtype=float)}
    names = ("far_loss", "far_icl", "far_prediction")
    return xr.Dataset({name: (dims, each) for name, each in zip(names, table, strict=True)}, coords=coords)


@torch.no_grad()
def answers(weights: Weights, model: Model, drawn: Regressions) -> np.ndarray:
    """Predictions [sequence, K], float64."""
    every, place = as_examples(drawn), next(iter(weights.values())).device
    batch = every.batch(np.arange(len(drawn.y)), every.scorable())
    found = model.outputs(weights, Batch(*(part.to(place) for part in batch)))
    return found.double().cpu().numpy()


def cumulative_rate(step: int, *, learning_rate: float, **schedule: Any) -> float:
    """The sum of the learning rates of all updates before ``step``."""
    return learning_rate * sum(rate_factor(s, **schedule) for s in range(step))


def _blocks(values: xr.DataArray) -> tuple[str, np.ndarray]:
    """Return the means (block) of values (sequence) over blocks of sequences."""
    return "block", block_means(values.values)


def _error(values: xr.DataArray) -> xr.DataArray:
    return values.std("sequence", ddof=1) / values.sizes["sequence"] ** 0.5
