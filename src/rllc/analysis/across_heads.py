"""Measure how well values of heads separate their types: numbers over the last axis, for claims.

A function takes values [..., head], the types of these heads and their layers, and returns values [...].
"""

import numpy as np

NAN = float("nan")


def separation(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """Return the share of the spread within layers that is between types: eta squared, 0 to 1.

    1 - sum (x - mean of its type in its layer)^2 / sum (x - mean of its layer)^2. For unrelated types the
    expected value is (groups - layers) / (heads - layers), not 0. NaN where no type has two heads in a
    layer, or no layer has two types.
    """
    groups = [
        np.flatnonzero((types == kind) & (layers == layer))
        for kind, layer in dict.fromkeys(zip(types, layers, strict=True))
    ]
    per_layer = [np.flatnonzero(layers == layer) for layer in dict.fromkeys(layers)]
    if len(groups) in (len(types), len(per_layer)):
        return np.full(values.shape[:-1], NAN)

    def squares(parts: list[np.ndarray]) -> np.ndarray:
        found: list[np.ndarray] = [
            ((values[..., p] - values[..., p].mean(-1, keepdims=True)) ** 2).sum(-1) for p in parts
        ]
        return sum(found[1:], found[0])

    whole = squares(per_layer)
    return np.divide(whole - squares(groups), whole, out=np.full(values.shape[:-1], NAN), where=whole > 0)


def silhouette(values: np.ndarray, types: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """Return the silhouette by types, the mean over heads of (b - a) / max(a, b): -1 to 1.

    a is the mean distance to the other heads of the same type, b the smallest mean distance to the heads of
    another type. A head alone in its type counts 0. NaN with fewer than two types, or if no type has two
    heads.
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
