"""Compare clusters of curves with types of heads: numbers for claims (arXiv 2410.02984, 4.1, App. F.5).

All numbers use the paper's vectors, the curves at the checkpoints, and its algorithms
(``clustering.PUBLISHED``; ``kshape`` is not one). A number is NaN where a head, a scope, an algorithm or a
number of clusters is missing. The numbers do not include the errors of the estimates.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.analysis.clustering import PUBLISHED
from rllc.analysis.head_types import types_at
from rllc.analysis.needs import needing
from rllc.analysis.partitions import adjusted_rand, share_as_alike

NAN = float("nan")
VECTORS = "checkpoints"
INDUCTION, SETS_APART = ("induction",), ("previous-token", "current-token")
SMALLEST_IS_BEST = ("davies_bouldin",)
TYPED = {  # k-Shape, and the paper's algorithms: that of its final classification, and the shape-based one
    "kshape": "shape_kmeans",
    "shape": "sbd_kmeans",
    "euclidean": "euclidean_kmeans",
}
# The words of claims and figures for one number.
AGREEMENT = "adjusted Rand index of two of the paper's algorithms, mean over pairs and numbers of clusters"
VARIABLES = {
    **{
        name: (words.format(algorithm), "1")
        for key, algorithm in TYPED.items()
        for name, words in (
            (f"rand_types_{key}", "adjusted Rand index of {} with the types, mean over scopes"),
            (f"rand_types_{key}_p", "share of orders of the heads with at least that, largest of scopes: {}"),
        )
    },
    "first_split_layer0": (
        "adjusted Rand index of two clusters of layer 0 with previous- and current-token heads against "
        "the rest, median over algorithms",
        "1",
    ),
    "first_split_layer1": (
        "adjusted Rand index of two clusters of layer 1 with induction heads against the rest, median "
        "over algorithms",
        "1",
    ),
    "induction_split": (
        "share of algorithms whose most clusters have each induction head of a scope in another", "1",
    ),
    "algorithms_agree": (
        f"{AGREEMENT}, and over scopes", "1",
    ),
    "standardizing_keeps": (
        "adjusted Rand index of Euclidean clusters with and without z-scores, mean over numbers of "
        "clusters and scopes",
        "1",
    ),
    "indices_right": (
        "indices, of three, whose best number of Euclidean clusters is that of types; the most in a scope",
        "1",
    ),
}  # fmt: skip


# The requirement of each number, in words.
NEEDED = {
    "first_split_layer0": "two clusters of layer 0 by all of the paper's algorithms",
    "first_split_layer1": "two clusters of layer 1 by all of the paper's algorithms",
    "induction_split": "two induction heads that are clustered together",
    "algorithms_agree": "two of the paper's algorithms",
    "standardizing_keeps": "Euclidean clusters with z-scores",
}


def against_types(made: xr.Dataset, step: int, types: xr.DataArray | None) -> xr.Dataset:
    """Return the numbers (seed, step) that compare clusters with types.

    made   the result of ``clusters.cluster``
    step   the last checkpoint
    types  ``head_type`` (seed, head); None: not known
    """
    heads, seeds = made["head"], made["seed"].values.tolist()
    at = made.sel(vectors=VECTORS)
    kinds = typed(types, made["seed"], heads)
    rows = []
    for seed in seeds:
        one, kind = at.sel(seed=seed), kinds.sel(seed=seed).values.astype(str)
        rows.append(
            {
                **_rand_types(one, kind),
                "first_split_layer0": _first_split(one, kind, "layer 0", SETS_APART),
                "first_split_layer1": _first_split(one, kind, "layer 1", INDUCTION),
                "induction_split": _induction_split(one, kind),
                "algorithms_agree": _agree(one),
                "standardizing_keeps": _keeps(one),
                "indices_right": _indices_right(one, kind),
            }
        )
    coords = {"seed": seeds, "step": [step]}
    numbers = {name: (("seed", "step"), [[row[name]] for row in rows]) for name in VARIABLES}
    return needing(xr.Dataset(numbers, coords), NEEDED)


def typed(types: xr.DataArray | None, seeds: xr.DataArray, heads: xr.DataArray) -> xr.DataArray:
    """Return the types (seed, head) of these seeds and heads, "unknown" without type."""
    labels = {"seed": seeds.values, "head": heads.values}
    if types is None:
        return xr.DataArray("unknown", labels, tuple(labels)).astype(object)
    plain = types_at(types.reset_coords(drop=True), labels)
    return plain.transpose("seed", "head")


def _members(one: xr.Dataset, kinds: np.ndarray, scope: str) -> np.ndarray:
    """Return a mask of the heads of a scope with a type."""
    return (one["head_scope"].values == scope) & (kinds != "unknown")


def _labels(one: xr.Dataset, algorithm: str, k: int, inside: np.ndarray) -> np.ndarray | None:
    """Return the clusters of these heads; None if one has none, or algorithm or number is missing."""
    if algorithm not in one["algorithm"].values or k not in one["n_clusters"].values or not inside.any():
        return None
    labels = one["cluster_checkpoints"].sel(algorithm=algorithm, n_clusters=k).values[inside]
    return labels if labels.min() >= 0 else None


def _rand_types(one: xr.Dataset, kinds: np.ndarray) -> dict[str, float]:
    found = {}
    for key, algorithm in TYPED.items():
        indices, chances = [], []
        for scope in one["scope"].values.tolist():
            inside = _members(one, kinds, scope)
            labels = _labels(one, algorithm, len(np.unique(kinds[inside])), inside)
            if labels is not None:
                indices.append(adjusted_rand(labels, kinds[inside]))
                chances.append(share_as_alike(labels, kinds[inside]))
        found[f"rand_types_{key}"] = float(np.mean(indices)) if indices else NAN
        found[f"rand_types_{key}_p"] = max(chances, default=NAN)
    return found


def _first_split(one: xr.Dataset, kinds: np.ndarray, scope: str, apart: Sequence[str]) -> float:
    """Return the median over the paper's algorithms; NaN unless all are present."""
    inside = _members(one, kinds, scope)
    found = [labels for name in PUBLISHED if (labels := _labels(one, name, 2, inside)) is not None]
    truth = np.isin(kinds[inside], apart)
    if len(found) < len(PUBLISHED):
        return NAN
    return float(np.median([adjusted_rand(labels, truth) for labels in found]))


def _induction_split(one: xr.Dataset, kinds: np.ndarray) -> float:
    most, split = int(one["n_clusters"].max()), []
    for scope in one["scope"].values.tolist():
        heads = _members(one, kinds, scope) & (kinds == "induction")
        found = [_labels(one, name, most, heads) for name in PUBLISHED] if heads.sum() > 1 else []
        split += [len(np.unique(labels)) == len(labels) for labels in found if labels is not None]
    return float(np.mean(split)) if split else NAN


def _agree(one: xr.Dataset) -> float:
    if not set(PUBLISHED) <= set(one["algorithm"].values.tolist()):
        return NAN
    four = list(PUBLISHED)
    table = one["agreement_checkpoints"].sel(algorithm=four, other_algorithm=four)
    table = table.transpose("algorithm", "other_algorithm", ...).values
    return float(table[np.triu_indices(len(four), 1)].mean())


def _keeps(one: xr.Dataset) -> float:
    if "euclidean_kmeans" not in one["algorithm"].values:
        return NAN
    found = []
    for k in one["n_clusters"].values.tolist():
        scored = one["cluster_standardized"].sel(n_clusters=k).values
        raw = one["cluster_checkpoints"].sel(n_clusters=k, algorithm="euclidean_kmeans").values
        for scope in one["scope"].values.tolist():
            inside = (one["head_scope"].values == scope) & (raw >= 0)
            found.append(adjusted_rand(scored[inside], raw[inside]))
    return float(np.mean(found))


def _indices_right(one: xr.Dataset, kinds: np.ndarray) -> float:
    """Return the most indices, over scopes, that choose the number of types; NaN if it is not an option."""
    if "euclidean_kmeans" not in one["algorithm"].values or one.sizes["n_clusters"] < 2:
        return NAN
    table, counts = one["score_checkpoints"].sel(algorithm="euclidean_kmeans"), []
    for scope in one["scope"].values.tolist():
        number = len(np.unique(kinds[_members(one, kinds, scope)]))
        scores = table.sel(scope=scope)
        if number in one["n_clusters"].values and np.isfinite(scores).all():
            right = 0
            for index in one["index"].values.tolist():
                values = scores.sel(index=index).values * (-1 if index in SMALLEST_IS_BEST else 1)
                right += int(one["n_clusters"][values.argmax()]) == number
            counts.append(float(right))
    return max(counts, default=NAN)
