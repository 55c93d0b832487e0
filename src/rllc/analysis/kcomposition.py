"""K-composition of multigram heads over training: for claims (arXiv 2410.02984, 4.3 and B.6, Fig. 7)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.curves import NotJudged, largest_means
from rllc.analysis.head_types import INDUCTION_BEGINS
from rllc.analysis.needs import needing
from rllc.vocabulary import layer_of

NAN = float("nan")
CLEAR = 2.0  # least distance of a turning point from both ends, in sd of the scores at step 0
# Numbers and their requirements, in words.
NAMES = {
    "turnaround": "a multigram head in layer 0 and one in the last",
    "coupled": "a multigram head in layer 0 and two in the last",
    "coupled_less_induction": "a multigram head in layer 0, two in the last and two induction heads there",
    "current_spike": "a current-token head in layer 0, a multigram head in the last, and induction",
    "null": "two layers of heads",
}
ERRORS = ("turnaround_se", "null_se")


def kcomposition(datasets: Mapping[str, xr.Dataset], *, random_seed: int = 0) -> xr.Dataset:
    """Return numbers (seed, step) of each seed, at the last step of ``attention_scores``.

    datasets  ``attention_scores``: ``k_composition`` (seed, step, head, later_head), ``prefix_matching``
              (seed, step, head), ``head_type`` (seed, head)

    All numbers are for heads of layer 0 with heads of the last layer.

    ``turnaround``     share of the pairs of multigram heads of both layers whose curve has a maximum or a
                       minimum between its ends that is ``CLEAR`` standard deviations of all pairs' scores at
                       the first step away from both; ``turnaround_se``: by the error of that deviation
    ``null``           mean of all pairs' scores at the first step, where heads are random; ``null_se``: its
                       standard error over the pairs, each a draw
    ``coupled``        mean over multigram heads of layer 0 of the mean correlation (Pearson) of the curves
                       with two multigram heads of the last layer
    ``coupled_less_induction``  ``coupled`` minus the same with two induction heads
    ``current_spike``  of the current-token head of layer 0 with these heads, mean over them: the largest mean
                       over three checkpoints from step 50 on, over the mean until any head's prefix-matching
                       score reaches ``INDUCTION_BEGINS`` or over the last value, the smaller ratio; with
                       several such heads the largest

    NaN where a seed has no such heads.
    """
    heads = datasets["attention_scores"]
    score = heads["k_composition"].sortby("step").dropna("step", how="all")
    prefix = heads["prefix_matching"].sel(step=score["step"]).max("head")
    names = [*NAMES, *ERRORS]
    rows = [
        _of_seed(score.sel(seed=s), heads["head_type"].sel(seed=s), prefix.sel(seed=s).values)
        for s in score["seed"].values
    ]
    table = np.asarray(rows, dtype=float).reshape(score.sizes["seed"], 1, len(names))
    coords = {"seed": score["seed"].values, "step": score["step"].values[-1:]}
    made = {name: (("seed", "step"), table[..., n]) for n, name in enumerate(names)}
    return needing(xr.Dataset(made, coords), NAMES)


def _of_seed(score: xr.DataArray, types: xr.DataArray, prefix: np.ndarray) -> list[float]:
    labels = types["head"].values
    last = max(map(layer_of, labels))

    def of(kind: str, layer: int) -> list[str]:
        return [h for h in labels[types.values == kind] if layer_of(h) == layer]

    def curves(senders: list[str], receivers: list[str]) -> np.ndarray:
        """[sender, receiver, step]"""
        chosen = score.sel(head=senders, later_head=receivers)
        return chosen.transpose("head", "later_head", "step").values

    first, later = of("multigram", 0), of("multigram", last)
    every = curves(*([h for h in labels if layer_of(h) == layer] for layer in (0, last)))
    coupled = _coupled(curves(first, later))
    reached = np.flatnonzero(prefix >= INDUCTION_BEGINS)
    senders = of("current-token", 0) if reached.size and later else []
    spikes = [
        _spike(score["step"].values, each.mean(0), each.mean(0)[: reached[0] + 1].mean())
        for each in curves(senders, later)
    ]
    null = every[..., 0].ravel()
    turning, error = _turning_with_error(curves(first, later), null)
    return [
        turning,
        coupled,
        coupled - _coupled(curves(first, of("induction", last))),
        max(spikes, default=NAN),
        null.mean(),
        error,
        null.std(ddof=1) / np.sqrt(null.size) if null.size > 1 else NAN,
    ]


def _turning_with_error(curves: np.ndarray, null: np.ndarray) -> tuple[float, float]:
    """Return the share of curves [sender, receiver, step] that turn, and its standard error.

    null  scores of all pairs at the first step

    A turn is measured by their standard deviation. Its relative error is 1 / sqrt(2 (n - 1)) for n draws.
    The error of the share is half its change from one error less to one more.
    """
    away = CLEAR * null.std()
    off = 1 / np.sqrt(2 * (null.size - 1)) if null.size > 1 else NAN
    low, high = (_turning(curves, away * (1 + sign * off)) for sign in (1, -1))
    return _turning(curves, away), (high - low) / 2 if null.size > 1 else NAN


def _turning(curves: np.ndarray, away: float) -> float:
    """Return the share of curves [.., step] with an extremum at least ``away`` from both ends."""
    rows = curves.reshape(-1, curves.shape[-1])
    if not rows.size or rows.shape[1] < 3:
        return NAN
    ends, between = rows[:, [0, -1]], rows[:, 1:-1]
    high = between.max(1) >= ends.max(1) + away
    return float((high | (between.min(1) <= ends.min(1) - away)).mean())


def _coupled(curves: np.ndarray) -> float:
    """Return the mean over senders of the mean correlation between two receivers' curves."""
    if not curves.shape[0] or curves.shape[1] < 2 or curves.shape[2] < 3:
        return NAN
    pairs = np.triu_indices(curves.shape[1], 1)
    return float(np.mean([np.corrcoef(each)[pairs].mean() for each in curves]))


def _spike(step: np.ndarray, value: np.ndarray, early: float) -> float:
    if not np.isfinite(value).all():
        return NAN
    try:
        means = largest_means(xr.DataArray(value, {"step": step}, ["step"]))
    except NotJudged:
        return NAN
    return float(means.max() / max(early, value[-1]))
