"""Heads grouped by their refined-LLC curves (arXiv 2410.02984, App. F.5).

The paper's vectors are the curves at the checkpoints, those of all distributions one after the other, and its
shape-based method is K-means with the shape-based distance, best on the Pile alone (F.5.4). ``cluster`` is of
curves that are interpolated first; ``cluster_checkpoints`` is of the paper's vectors.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.trajectories import resample, z_score
from rllc.vocabulary import describe

INDICES = ("silhouette", "calinski_harabasz", "davies_bouldin")
LAYER_SCOPE_HEADS = 8
MOST_ROUNDS = 100  # of sbd_kmeans, whose means need not settle
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


def sbd_kmeans(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """K-means with the shape-based distance: a mean per cluster, each series at the nearest (SBD).

    A head's series is its curves one after the other, z-normalised as a whole: its level on one
    distribution beside another is a part of its shape, and a lag moves all of it. Of the paper's own it is
    only said that it is K-means with this distance, whatever scale or offset (F.5.1): that these are taken
    out so, and that centres are plain means, is ours. ``shape_kmeans`` is k-Shape: its centres are no means.
    Starts are ``n_init`` random choices of members; of all rounds the one counts whose series are nearest to
    the means of their clusters (summed SBD).
    """
    series = z_score(concatenated(curves))
    random = np.random.default_rng(random_state)
    best, least = np.full(len(series), -1), np.inf
    for _ in range(n_init):
        centres, seen = series[random.choice(len(series), n_clusters, replace=False)], None
        for _ in range(MOST_ROUNDS):
            apart = np.asarray([[shape_distance(one, centre) for centre in centres] for one in series])
            labels = apart.argmin(axis=1)
            if len(np.unique(labels)) < n_clusters or np.array_equal(labels, seen):
                break
            centres, seen = np.stack([series[labels == k].mean(axis=0) for k in range(n_clusters)]), labels
            total = sum(shape_distance(one, centres[k]) for one, k in zip(series, labels, strict=True))
            if total < least - 1e-12:
                best, least = labels, total
    return best


ALGORITHMS: dict[str, Callable[[np.ndarray, int, int, int], np.ndarray]] = {
    f.__name__: f for f in (euclidean_kmeans, ward, dtw_kmeans, shape_kmeans, sbd_kmeans)
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
    if algorithm in ("shape_kmeans", "sbd_kmeans"):
        series = normalized(curves) if algorithm == "shape_kmeans" else z_score(concatenated(curves))
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
    ``head_scope`` (head); the same of curves at the checkpoints, not standardized, ``*_checkpoints`` with one
    more dim ``vectors``: "checkpoints", and with several distributions "checkpoints_first", of the first
    alone; and ``agreement_vectors`` (seed, scope, vectors, algorithm, n_clusters), their adjusted Rand index
    with ``cluster``. Heads that have a distribution without two measured checkpoints are not clustered (-1);
    what then cannot be computed is NaN. The order of heads changes nothing.
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

    def of(values: xr.DataArray, points: int | None, standardize: bool) -> xr.Dataset:
        curves = resample(values, points=points, standardize=standardize)
        curves = curves.transpose("seed", "head", "grid", "distribution").values
        return _clustered(curves, list(groups.values()), chosen, ks, random_seed % 2**32, n_init)

    ours = of(ordered, points, standardize)
    raw = {"checkpoints": ordered}
    if ordered.sizes["distribution"] > 1:
        raw["checkpoints_first"] = ordered.isel(distribution=[0])
    theirs = xr.concat([of(values, None, False) for values in raw.values()], "vectors")
    same = xr.Dataset(
        {"agreement_vectors": _agreement_of_vectors(ours["cluster"], theirs["cluster"], groups)}
    )
    kept = (name for name, coord in ordered.coords.items() if set(coord.dims) <= {"seed", "head"})
    result = xr.merge([ours, theirs.rename({name: f"{name}_checkpoints" for name in theirs}), same])
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
    """``cluster``, ``score`` and ``agreement`` of curves [seed, head, point, distribution]."""
    seeds, heads = curves.shape[:2]
    label = np.full((seeds, heads, len(chosen), len(ks)), -1, dtype=np.int32)
    score = np.full((seeds, len(groups), len(chosen), len(ks), len(INDICES)), np.nan)
    agreement = np.full((seeds, len(groups), len(chosen), len(chosen), len(ks)), np.nan)
    for s, (g, mask) in itertools.product(range(seeds), enumerate(groups)):
        usable = np.flatnonzero(mask & np.isfinite(curves[s]).all(axis=(1, 2)))
        if len(usable) <= ks[0]:
            continue
        data = np.ascontiguousarray(curves[s, usable])
        apart = [distances(data, name) for name in chosen]
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


def _agreement_of_vectors(
    ours: xr.DataArray, theirs: xr.DataArray, groups: Mapping[str, np.ndarray]
) -> xr.DataArray:
    """Adjusted Rand index over the heads of each scope that both cluster; NaN with none."""
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


def _agreements(clusterings: Sequence[np.ndarray]) -> np.ndarray:
    from sklearn.metrics import adjusted_rand_score

    complete = [labels.min() >= 0 for labels in clusterings]
    table = np.full((len(clusterings), len(clusterings)), np.nan)
    for i, j in itertools.product(np.flatnonzero(complete), repeat=2):
        table[i, j] = adjusted_rand_score(clusterings[i], clusterings[j])
    return table
