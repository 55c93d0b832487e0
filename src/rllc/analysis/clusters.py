"""Cluster heads by their refined-LLC curves (arXiv 2410.02984, App. F.5).

The paper's vectors are the curves at the checkpoints, concatenated over all distributions. Its shape-based
method is K-means with the shape-based distance, best on the Pile alone (F.5.4). ``cluster`` uses interpolated
curves; ``cluster_checkpoints`` uses the paper's vectors.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.clustering import ALGORITHMS, concatenated, distances, series
from rllc.analysis.clusters_by_type import VARIABLES as BY_TYPE
from rllc.analysis.clusters_by_type import against_types
from rllc.analysis.consensus import agreement as agreement_with
from rllc.analysis.consensus import majority_vote, weights
from rllc.analysis.partitions import canonical
from rllc.analysis.trajectories import resample
from rllc.vocabulary import describe

INDICES = ("silhouette", "calinski_harabasz", "davies_bouldin")
LAYER_SCOPE_HEADS = 8
VARIABLES = {
    "cluster": ("cluster of the head, numbered by first head in its scope; -1 not clustered", "1"),
    "score": ("score of the clustering; the silhouette in the algorithm's own distance", "1"),
    "agreement": ("adjusted Rand index of two algorithms' clusters", "1"),
    "cluster_checkpoints": (
        "cluster of the head by its curves at the checkpoints, numbered by first head; -1 not clustered",
        "1",
    ),
    "score_checkpoints": ("score of the clustering of curves at the checkpoints", "1"),
    "agreement_checkpoints": ("adjusted Rand index of two algorithms' clusters, at the checkpoints", "1"),
    "agreement_vectors": (
        "adjusted Rand index of the clusters by curves at the checkpoints and by interpolated ones",
        "1",
    ),
    "consensus": (
        "cluster of the head by majority vote of the algorithms and vectors, numbered by first head; -1 none",
        "1",
    ),
    "consensus_agreement": ("mean adjusted Rand index of the clusterings with their majority vote", "1"),
    "cluster_standardized": (
        "cluster of the head by Euclidean K-means of z-scored curves at the checkpoints; -1 not clustered",
        "1",
    ),
}


def clusters(datasets: Mapping[str, xr.Dataset], *, distributions: list[str], **settings: Any) -> xr.Dataset:
    """Return ``cluster`` of the ``rllc`` curves on these distributions, and its agreement with head types.

    datasets  ``rllc``, and ``attention_scores`` (``head_type``) where there is one
    """
    rllc, types = datasets["rllc"], datasets.get("attention_scores", {}).get("head_type")
    curves = rllc["rllc"].sel(distribution=distributions)
    made = cluster(curves, **settings)
    numbers = against_types(made, int(rllc["step"][-1]), types)
    return describe(made.merge(numbers, combine_attrs="override"), BY_TYPE)


def scopes(layer: np.ndarray) -> dict[str, np.ndarray]:
    """Return the groups of heads to cluster: ``{label: mask over heads}``.

    Each layer is a group where every layer has at least 8 heads (as in the paper). Otherwise all heads are.
    """
    layers = np.unique(layer)
    if all((layer == index).sum() >= LAYER_SCOPE_HEADS for index in layers):
        return {f"layer {index}": layer == index for index in layers}
    return {"all heads": np.ones(len(layer), dtype=bool)}


def scores(curves: np.ndarray, labels: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Return the three ``INDICES`` of a clustering.

    The silhouette uses the distances ``apart`` [head, head]. The others are defined by means, so they use the
    concatenated curves and favour the Euclidean algorithms. NaN for 1 cluster, or as many as heads.
    """
    from sklearn import metrics

    if not 2 <= len(np.unique(labels)) < len(labels):
        return np.full(len(INDICES), np.nan)
    points, silhouette = concatenated(curves), metrics.silhouette_score(apart, labels, metric="precomputed")
    by_means = (metrics.calinski_harabasz_score, metrics.davies_bouldin_score)
    return np.asarray([silhouette, *(score(points, labels) for score in by_means)])


def cluster(
    rllc: xr.DataArray,
    *,
    n_clusters: Sequence[int],
    random_seed: int,
    points: int = 32,
    standardize: bool = False,
    algorithms: Sequence[str] = tuple(ALGORITHMS),
    n_init: int = 5,
) -> xr.Dataset:
    """Return clusters of heads by their curves: the dataset ``clusters.nc``.

    rllc         (seed, step, head, distribution) with coordinate ``layer`` (head)
    n_clusters   the numbers of clusters, each at least 2 and below the number of heads in every scope
    random_seed  starts of the K-means algorithms; each seed and scope is clustered separately
    points, standardize  as in ``trajectories.resample``; the paper does not standardize

    Returns ``cluster`` (seed, head, algorithm, n_clusters), ``score`` (seed, scope, algorithm, n_clusters,
    index) and ``agreement`` (seed, scope, algorithm, other_algorithm, n_clusters), with the coordinate
    ``head_scope`` (head). Also the same for curves at the checkpoints, not standardized: ``*_checkpoints``
    with another dim ``vectors``: "checkpoints", and with several distributions "checkpoints_first", for the
    first one only. ``agreement_vectors`` (seed, scope, vectors, algorithm, n_clusters) is their adjusted Rand
    index with ``cluster``. ``cluster_standardized`` (seed, head, n_clusters) holds Euclidean clusters of
    z-scored curves at the checkpoints. ``consensus`` (seed, head, n_clusters) is the majority vote of all
    these clusterings but the last, ``consensus_agreement`` (seed, scope, n_clusters) their agreement with it
    (``rllc.analysis.consensus``). Heads with fewer than two measured checkpoints on a distribution are not
    clustered (-1), and values that depend on them are NaN. The order of heads does not matter.
    """
    unknown = sorted(set(algorithms) - set(ALGORITHMS))
    if unknown or not algorithms:
        raise ValueError(f"unknown clustering algorithms {unknown}: choose from {', '.join(ALGORITHMS)}")
    chosen = list(algorithms)
    ordered = rllc.sortby([rllc["layer"], rllc["head_index"]]) if "head_index" in rllc.coords else rllc
    groups = scopes(ordered["layer"].values)
    smallest = min(int(mask.sum()) for mask in groups.values())
    if not n_clusters or not all(2 <= k < smallest for k in n_clusters):
        raise ValueError(
            f"numbers of clusters must be from 2 to {smallest - 1} (one below the heads of the smallest of "
            f"{', '.join(groups)}); got {list(n_clusters)}"
        )
    ks = sorted({int(k) for k in n_clusters})

    def of(values: xr.DataArray, points: int | None, standardize: bool, by: Sequence[str]) -> xr.Dataset:
        curves = resample(values, points=points, standardize=standardize)
        curves = curves.transpose("seed", "head", "grid", "distribution").values
        return _clustered(curves, list(groups.values()), by, ks, random_seed % 2**32, n_init)

    ours = of(ordered, points, standardize, chosen)
    scored = of(ordered, None, True, ["euclidean_kmeans"])["cluster"].isel(algorithm=0)
    raw = {"checkpoints": ordered}
    if ordered.sizes["distribution"] > 1:
        raw["checkpoints_first"] = ordered.isel(distribution=[0])
    theirs = xr.concat([of(values, None, False, chosen) for values in raw.values()], "vectors")
    same = _agreement_of_vectors(ours["cluster"], theirs["cluster"], groups)
    more = xr.Dataset({"agreement_vectors": same, "cluster_standardized": scored})
    more = more.merge(_consensus(ours["cluster"], theirs["cluster"], groups, chosen))
    kept = (name for name, coord in ordered.coords.items() if set(coord.dims) <= {"seed", "head"})
    result = xr.merge([ours, theirs.rename({name: f"{name}_checkpoints" for name in theirs}), more])
    result = result.assign_coords(
        {
            **{name: ordered[name] for name in kept},
            "head_scope": ("head", np.select(list(groups.values()), list(groups), "").astype(object)),
            "scope": list(groups),
            "vectors": list(raw),
            "algorithm": chosen,
            "other_algorithm": chosen,
            "n_clusters": ks,
            "index": list(INDICES),
        }
    ).assign_attrs(
        distributions=[str(name) for name in np.atleast_1d(rllc["distribution"].values)],
        grid_points=points,
        standardized=int(standardize),
        comment="cluster: curves on a uniform grid in log(step + 1), a lag is a number of grid points; "
        "*_checkpoints: at the checkpoints, one distribution after the other, a lag is a number of them; "
        "checkpoints_first: of the first distribution alone",
    )
    return describe(result.sel(head=rllc["head"].values), VARIABLES)


def _clustered(
    curves: np.ndarray, groups: Sequence[np.ndarray], chosen: Sequence[str], ks: Sequence[int],
    random_state: int, n_init: int,
) -> xr.Dataset:  # fmt: skip
    """Return ``cluster``, ``score`` and ``agreement`` of curves [seed, head, point, distribution]."""
    seeds, heads = curves.shape[:2]
    label = np.full((seeds, heads, len(chosen), len(ks)), -1, dtype=np.int32)
    score = np.full((seeds, len(groups), len(chosen), len(ks), len(INDICES)), np.nan)
    agreement = np.full((seeds, len(groups), len(chosen), len(chosen), len(ks)), np.nan)
    for s, (g, mask) in itertools.product(range(seeds), enumerate(groups)):
        usable = np.flatnonzero(mask & np.isfinite(curves[s]).all(axis=(1, 2)))
        if len(usable) <= ks[0]:
            continue
        data = np.ascontiguousarray(curves[s, usable])
        apart = [_apart(data, name) for name in chosen]
        for k, number in enumerate(ks):
            if len(usable) <= number:
                break
            found = (ALGORITHMS[name](data, number, random_state, n_init) for name in chosen)
            clusterings = [canonical(labels) for labels in found]
            for a, labels in enumerate(clusterings):
                label[s, usable, a, k] = labels
                score[s, g, a, k] = scores(data, labels, apart[a])
            agreement[s, g, :, :, k] = _agreements(clusterings)
    return xr.Dataset(
        {
            "cluster": (("seed", "head", "algorithm", "n_clusters"), label),
            "score": (("seed", "scope", "algorithm", "n_clusters", "index"), score),
            "agreement": (("seed", "scope", "algorithm", "other_algorithm", "n_clusters"), agreement),
        }
    )


def _apart(curves: np.ndarray, algorithm: str) -> np.ndarray:
    """Return the distances [head, head] of ``algorithm``, with an exact 0 diagonal."""
    compared = series(curves, algorithm)
    table = distances(compared, compared, algorithm)
    np.fill_diagonal(table, 0.0)
    return table


def _agreement_of_vectors(
    ours: xr.DataArray, theirs: xr.DataArray, groups: Mapping[str, np.ndarray]
) -> xr.DataArray:
    """Return the adjusted Rand index over the heads of each scope that both cluster; NaN without heads."""
    from sklearn.metrics import adjusted_rand_score

    def index(a: np.ndarray, b: np.ndarray) -> float:
        both = (a >= 0) & (b >= 0)
        return adjusted_rand_score(a[both], b[both]) if both.any() else np.nan

    parts = [
        xr.apply_ufunc(
            index,
            ours.isel(head=mask),
            theirs.isel(head=mask),
            input_core_dims=[["head"], ["head"]],
            vectorize=True,
        )
        for mask in map(np.flatnonzero, groups.values())
    ]
    return xr.concat(parts, "scope").transpose("seed", "scope", "vectors", "algorithm", "n_clusters")


def _consensus(
    ours: xr.DataArray, theirs: xr.DataArray, groups: Mapping[str, np.ndarray], algorithms: Sequence[str]
) -> xr.Dataset:
    """Return ``consensus`` and ``consensus_agreement`` of the clusters by every algorithm and vectors."""
    order = ("seed", "n_clusters", "vectors", "algorithm", "head")
    parts = [each.transpose(*order).values for each in (ours.expand_dims("vectors"), theirs)]
    every = np.concatenate(parts, axis=order.index("vectors"))
    seeds, numbers, vectors, _, heads = every.shape
    weight = np.tile(weights(algorithms), vectors)
    vote = np.full((seeds, heads, numbers), -1, dtype=np.int32)
    agreed = np.full((seeds, len(groups), numbers), np.nan)
    for s, k, (g, mask) in itertools.product(range(seeds), range(numbers), enumerate(groups.values())):
        known = mask & (every[s, k] >= 0).any(axis=(0, 1))
        votes = every[s, k].reshape(-1, heads)[:, known]
        if known.any():
            vote[s, known, k] = majority_vote(votes, weight)
            agreed[s, g, k] = agreement_with(votes, weight, vote[s, known, k])
    return xr.Dataset(
        {
            "consensus": (("seed", "head", "n_clusters"), vote),
            "consensus_agreement": (("seed", "scope", "n_clusters"), agreed),
        }
    )


def _agreements(clusterings: Sequence[np.ndarray]) -> np.ndarray:
    from sklearn.metrics import adjusted_rand_score

    complete = [labels.min() >= 0 for labels in clusterings]
    table = np.full((len(clusterings), len(clusterings)), np.nan)
    for i, j in itertools.product(np.flatnonzero(complete).tolist(), repeat=2):
        table[i, j] = adjusted_rand_score(clusterings[i], clusterings[j])
    return table
