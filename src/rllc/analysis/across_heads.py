"""From values of several heads at each checkpoint to one: ``over_heads`` of a statistic.

A function gets values [step, head], the types of these heads and their layers, and gives values [step]. NaN
where a head that it needs has no value.
"""

from collections.abc import Callable

import numpy as np

from rllc.analysis.ranks import spearman

NAN = float("nan")


def highest(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """The largest value that is known."""
    return np.nanmax(values, -1)


def lowest(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """The smallest value that is known."""
    return np.nanmin(values, -1)


def mean(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """The mean of the values that are known."""
    return np.nanmean(values, -1)


def count(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """How many heads there are."""
    return np.full(len(values), float(values.shape[-1]))


def spread(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """(maximum - minimum) / |mean|; NaN with fewer than two heads."""
    if values.shape[-1] < 2:
        return np.full(len(values), NAN)
    return np.ptp(values, -1) / np.abs(values.mean(-1))


def separation(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """How much of the spread within layers is between types: eta squared, 0 to 1.

    1 - sum (x - mean of its type in its layer)^2 / sum (x - mean of its layer)^2. Without any relation the
    expected value is (groups - layers) / (heads - layers), not 0. NaN where no type has two heads in a
    layer, or no layer has two types.
    """
    groups = [
        np.flatnonzero((types == kind) & (layers == layer))
        for kind, layer in {*zip(types, layers, strict=True)}
    ]
    per_layer = [np.flatnonzero(layers == layer) for layer in {*layers}]
    if len(groups) in (len(types), len(per_layer)):
        return np.full(len(values), NAN)

    def squares(parts: list[np.ndarray]) -> np.ndarray:
        return sum(((values[:, p] - values[:, p].mean(-1, keepdims=True)) ** 2).sum(-1) for p in parts)

    whole = squares(per_layer)
    return np.divide(whole - squares(groups), whole, out=np.full(len(values), NAN), where=whole > 0)


def silhouette(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """Mean over heads of (b - a) / max(a, b), by types: -1 to 1.

    a is the mean distance to the others of its type, b the least mean distance to the heads of another; 0
    for a head that is alone in its type. NaN with fewer than two types, or none with two heads.
    """
    kinds, sizes = np.unique(types, return_counts=True)
    if len(kinds) < 2 or sizes.max(initial=0) < 2:
        return np.full(len(values), NAN)

    def at(row: np.ndarray) -> float:
        apart = np.abs(row[:, None] - row)
        scores = []
        for n, kind in enumerate(types):
            same = types == kind
            if same.sum() < 2:
                scores.append(0.0 if np.isfinite(row).all() else NAN)
                continue
            a = apart[n, same].sum() / (same.sum() - 1)
            b = min(apart[n, types == other].mean() for other in kinds if other != kind)
            scores.append((b - a) / max(a, b) if max(a, b) > 0 else 0.0 * (a + b))
        return float(np.mean(scores))

    return np.asarray([at(row) for row in values])


def rank_correlations(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Spearman's rank correlation over heads of two variables [step, head]; NaN with fewer than 3 heads."""
    return np.asarray([spearman(*rows) for rows in zip(values, others, strict=True)])


SPEARMAN = "spearman"  # over heads, of two variables: the only one that takes the other curve
OVER_HEADS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "max": highest, "min": lowest, "mean": mean, "count": count, "spread": spread, "separation": separation,
    "silhouette": silhouette,
}  # fmt: skip


def share(values: np.ndarray, bound: float | None) -> float:
    """Of numbers of heads the share that are at most ``bound``."""
    return float(np.mean(values <= bound))


OF_HEADS: dict[str, Callable[[np.ndarray, float | None], float]] = {
    "max": lambda values, bound: float(values.max()),
    "min": lambda values, bound: float(values.min()),
    "mean": lambda values, bound: float(values.mean()),
    "median": lambda values, bound: float(np.median(values)),
    "share": share,
}
