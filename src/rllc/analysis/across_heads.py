"""From values of several heads at each checkpoint to one: ``over_heads`` of a statistic.

A function gets values [..., step, head], the types of these heads and their layers, and gives values
[..., step]. NaN where a head that it needs has no value.
"""

from collections.abc import Callable

import numpy as np

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
    return np.full(values.shape[:-1], float(values.shape[-1]))


def spread(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """(maximum - minimum) / |mean|; NaN with fewer than two heads."""
    if values.shape[-1] < 2:
        return np.full(values.shape[:-1], NAN)
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
        return np.full(values.shape[:-1], NAN)

    def squares(parts: list[np.ndarray]) -> np.ndarray:
        return sum(((values[..., p] - values[..., p].mean(-1, keepdims=True)) ** 2).sum(-1) for p in parts)

    whole = squares(per_layer)
    return np.divide(whole - squares(groups), whole, out=np.full(values.shape[:-1], NAN), where=whole > 0)


def silhouette(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """Mean over heads of (b - a) / max(a, b), by types: -1 to 1.

    a is the mean distance to the others of its type, b the least mean distance to the heads of another; 0
    for a head that is alone in its type. NaN with fewer than two types, or none with two heads.
    """
    kinds, sizes = np.unique(types, return_counts=True)
    if len(kinds) < 2 or sizes.max(initial=0) < 2:
        return np.full(values.shape[:-1], NAN)

    apart = np.abs(values[..., :, None] - values[..., None, :])
    scores = np.where(np.isfinite(values).all(-1, keepdims=True), np.zeros_like(values), NAN)
    for n, kind in enumerate(types):
        same = types == kind
        if same.sum() < 2:
            continue
        a = apart[..., n, same].sum(-1) / (same.sum() - 1)
        others = [apart[..., n, types == other].mean(-1) for other in kinds if other != kind]
        b = np.min(others, axis=0)
        scores[..., n] = np.divide(b - a, np.maximum(a, b), out=0.0 * (a + b), where=np.maximum(a, b) > 0)
    return scores.mean(-1)


BY_TYPE = ("separation", "silhouette")  # those that ask for the types
SPEARMAN = "spearman"  # over heads, of two variables: the only one that takes the other curve
OVER_HEADS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "max": highest, "min": lowest, "mean": mean, "count": count, "spread": spread, "separation": separation,
    "silhouette": silhouette,
}  # fmt: skip


# Of the numbers of heads [..., head] one; ``share``: of these at most ``bound``.
OF_HEADS: dict[str, Callable[[np.ndarray, float | None], np.ndarray]] = {
    "max": lambda numbers, bound: numbers.max(-1),
    "min": lambda numbers, bound: numbers.min(-1),
    "mean": lambda numbers, bound: numbers.mean(-1),
    "median": lambda numbers, bound: np.median(numbers, -1),
    "share": lambda numbers, bound: (numbers <= bound).mean(-1),
}
