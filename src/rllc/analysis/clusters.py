"""Heads grouped by the shape of their refined-LLC curves (arXiv 2410.02984, App. on clustering)."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.trajectories import resample, z_score
from rllc.vocabulary import describe

INDICES = ("silhouette", "calinski_harabasz", "davies_bouldin")
LAYER_SCOPE_HEADS = 8
VARIABLES = {
    "cluster": ("cluster of the head, numbered by first head in its scope; -1 not clustered", "1"),
    "score": ("score of the clustering; the silhouette in the algorithm's own distance", "1"),
    "agreement": ("adjusted Rand index of two algorithms' clusters", "1"),
}


def clusters(datasets: Mapping[str, xr.Dataset], *, distributions: list[str], **settings: Any) -> xr.Dataset:
    """``cluster`` of the curves of ``rllc`` on these distributions."""
    return cluster(datasets["rllc"]["rllc"].sel(distribution=distributions), **settings)


# Curves are [head, point, distribution]; every algorithm returns labels [head].


def euclidean_kmeans(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """K-means on the concatenated curves."""
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=n_init, random_state=random_state).fit_predict(concatenated(curves))


def ward(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """Hierarchical clustering with Ward's linkage on the concatenated curves. Has no randomness."""
    from sklearn.cluster import AgglomerativeClustering

    return AgglomerativeClustering(n_clusters, linkage="ward").fit_predict(concatenated(curves))


def dtw_kmeans(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """K-means under dynamic time warping with DBA barycentres (tslearn), distributions as channels."""
    from tslearn.clustering import TimeSeriesKMeans

    model = TimeSeriesKMeans(
        n_clusters, metric="dtw", n_init=n_init, max_iter_barycenter=10, random_state=random_state
    )
    return model.fit_predict(curves)


def shape_kmeans(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """k-Shape (Paparrizos & Gravano 2015; tslearn) on curves z-normalised per distribution.

    Distance 1 - max over lags of the normalised cross-correlation, zero-padded; the distributions of a
    head share one lag. A lag is a number of grid points, so a ratio of training steps (log step).
    """
    from tslearn.clustering import KShape

    model = KShape(n_clusters, n_init=n_init, random_state=random_state).fit(normalized(curves))
    if not np.isfinite(model.inertia_):  # every start ended in an empty cluster
        return np.full(len(curves), -1)
    return model.labels_


ALGORITHMS: dict[str, Callable[[np.ndarray, int, int, int], np.ndarray]] = {
    f.__name__: f for f in (euclidean_kmeans, ward, dtw_kmeans, shape_kmeans)
}


def normalized(curves: np.ndarray) -> np.ndarray:
    """Each curve [head, point, distribution] with mean 0 and standard deviation 1 over the points."""
    return np.moveaxis(z_score(np.moveaxis(curves, 2, 1)), 1, 2)


def concatenated(curves: np.ndarray) -> np.ndarray:
    """[head, point, distribution] -> [head, distribution * point]: one distribution after the other."""
    return np.moveaxis(curves, 2, 1).reshape(len(curves), -1)


def shape_distance(a: np.ndarray, b: np.ndarray) -> float:
    """SBD of two series [point] or [point, channel]: ``1 - max_lag sum_channels CC_lag / (|a| |b|)``, 0 to 2.

    CC_lag = sum_t a_{t + lag} b_t, zero outside. Not normalised here: the distance ignores scale but not
    offset, so give it z-normalised series.
    """
    a, b = (np.asarray(series, dtype=np.float64).reshape(len(series), -1) for series in (a, b))
    size = np.linalg.norm(a) * np.linalg.norm(b)
    if size == 0.0:
        return 1.0
    return float(1.0 - sum(map(np.convolve, a.T, b[::-1].T)).max() / size)


def scopes(layer: np.ndarray) -> dict[str, np.ndarray]:
    """Which heads are clustered together: ``{label: mask over heads}``.

    Each layer by itself where every layer has at least 8 heads (as in the paper), else all heads.
    """
    layers = np.unique(layer)
    if all((layer == index).sum() >= LAYER_SCOPE_HEADS for index in layers):
        return {f"layer {index}": layer == index for index in layers}
    return {"all heads": np.ones(len(layer), dtype=bool)}


def canonical(labels: np.ndarray) -> np.ndarray:
    """Clusters renumbered in the order of their first member; -1 stays."""
    seen = list(dict.fromkeys(label for label in labels.tolist() if label >= 0))
    return np.asarray([seen.index(label) if label >= 0 else -1 for label in labels.tolist()], dtype=np.int32)


def distances(curves: np.ndarray, algorithm: str) -> np.ndarray:
    """Distances [head, head] that ``algorithm`` goes by: Euclidean, DTW or SBD."""
    if algorithm == "dtw_kmeans":
        from tslearn.metrics import cdist_dtw

        return cdist_dtw(curves)
    if algorithm == "shape_kmeans":
        series = normalized(curves)
        table = np.asarray([[shape_distance(a, b) for b in series] for a in series])
        np.fill_diagonal(table, 0.0)
        return np.maximum(table, 0.0)
    points = concatenated(curves)
    return np.linalg.norm(points[:, None] - points, axis=-1)


def scores(curves: np.ndarray, labels: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """The three ``INDICES`` of a clustering.

    The silhouette goes by the distances ``apart`` [head, head]; the others are defined by means, so they use
    the concatenated curves and favour the Euclidean algorithms. NaN for 1 cluster, or as many as heads.
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
    """Clusters of heads by their curves: the dataset ``clusters.nc``.

    rllc         (seed, step, head, distribution) with coordinate ``layer`` (head)
    n_clusters   the numbers of clusters asked for, each at least 2 and below the heads in every scope
    random_seed  starts of the K-means algorithms; each seed and scope is clustered by itself
    points, standardize  as ``trajectories.resample`` has them; the paper does not standardize

    Returns ``cluster`` (seed, head, algorithm, n_clusters), ``score`` (seed, scope, algorithm, n_clusters,
    index) and ``agreement`` (seed, scope, algorithm, other_algorithm, n_clusters), with the coordinate
    ``head_scope`` (head). Heads that have a distribution without two measured checkpoints are not clustered
    (-1); what then cannot be computed is NaN. The order of heads changes nothing.
    """
    unknown = sorted(set(algorithms) - set(ALGORITHMS))
    if unknown or not algorithms:
        raise ValueError(f"unknown clustering algorithms {unknown}: choose from {', '.join(ALGORITHMS)}")
    chosen = list(algorithms)
    ordered = rllc.sortby([rllc["layer"], rllc["head_index"]]) if "head_index" in rllc.coords else rllc
    curves = resample(ordered, points=points, standardize=standardize)
    curves = curves.transpose("seed", "head", "grid", "distribution")
    groups = scopes(ordered["layer"].values)
    smallest = min(int(mask.sum()) for mask in groups.values())
    if not n_clusters or not all(2 <= k < smallest for k in n_clusters):
        raise ValueError(
            f"numbers of clusters must be from 2 to {smallest - 1} (one below the heads of the smallest of "
            f"{', '.join(groups)}); got {list(n_clusters)}"
        )
    ks = sorted({int(k) for k in n_clusters})
    seeds, heads = curves.sizes["seed"], curves.sizes["head"]
    label = np.full((seeds, heads, len(chosen), len(ks)), -1, dtype=np.int32)
    score = np.full((seeds, len(groups), len(chosen), len(ks), len(INDICES)), np.nan)
    agreement = np.full((seeds, len(groups), len(chosen), len(chosen), len(ks)), np.nan)
    for s, (g, mask) in itertools.product(range(seeds), enumerate(groups.values())):
        usable = np.flatnonzero(mask & np.isfinite(curves.values[s]).all(axis=(1, 2)))
        if len(usable) <= ks[0]:
            continue
        data = np.ascontiguousarray(curves.values[s, usable])
        apart = [distances(data, name) for name in chosen]
        for k, number in enumerate(ks):
            if len(usable) <= number:
                break
            found = (ALGORITHMS[name](data, number, random_seed % 2**32, n_init) for name in chosen)
            clusterings = [canonical(labels) for labels in found]
            for a, labels in enumerate(clusterings):
                label[s, usable, a, k] = labels
                score[s, g, a, k] = scores(data, labels, apart[a])
            agreement[s, g, :, :, k] = _agreements(clusterings)
    result = xr.Dataset(
        {
            "cluster": (("seed", "head", "algorithm", "n_clusters"), label),
            "score": (("seed", "scope", "algorithm", "n_clusters", "index"), score),
            "agreement": (("seed", "scope", "algorithm", "other_algorithm", "n_clusters"), agreement),
        },
        coords={
            **{name: coord for name, coord in curves.coords.items() if set(coord.dims) <= {"seed", "head"}},
            "head_scope": ("head", np.select(list(groups.values()), list(groups), "").astype(object)),
            "scope": list(groups),
            "algorithm": chosen,
            "other_algorithm": chosen,
            "n_clusters": ks,
            "index": list(INDICES),
        },
        attrs={
            "distributions": [str(name) for name in np.atleast_1d(rllc["distribution"].values)],
            "grid_points": points,
            "standardized": int(standardize),
            "comment": "curves on a uniform grid in log(step + 1); a lag is a number of grid points",
        },
    )
    return describe(result.sel(head=rllc["head"].values), VARIABLES)


def _agreements(clusterings: Sequence[np.ndarray]) -> np.ndarray:
    from sklearn.metrics import adjusted_rand_score

    complete = [labels.min() >= 0 for labels in clusterings]
    table = np.full((len(clusterings), len(clusterings)), np.nan)
    for i, j in itertools.product(np.flatnonzero(complete), repeat=2):
        table[i, j] = adjusted_rand_score(clusterings[i], clusterings[j])
    return table
