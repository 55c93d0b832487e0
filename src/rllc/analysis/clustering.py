"""Algorithms that cluster curves, their distances, and the centres of their clusters.

Curves are [head, point, distribution]; every algorithm returns labels [head], -1 where it fails.
"""

from collections.abc import Callable

import numpy as np

from rllc.analysis.trajectories import z_score

MOST_ROUNDS = 100  # of sbd_kmeans, since its means may not converge
MORE_STARTS = 4  # times as many for sbd_kmeans: its starts are random, those of others are spread out
BARYCENTRE_ROUNDS = 10  # of DTW barycentres


def euclidean_kmeans(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """Cluster by K-means on the concatenated curves."""
    from sklearn.cluster import KMeans

    # pyright infers the type of n_init from scikit-learn's default, "auto".
    model = KMeans(n_clusters, n_init=n_init, random_state=random_state)  # pyright: ignore[reportArgumentType]
    return model.fit_predict(concatenated(curves))


def ward(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """Cluster hierarchically with Ward's linkage on the concatenated curves; deterministic."""
    from sklearn.cluster import AgglomerativeClustering

    return AgglomerativeClustering(n_clusters, linkage="ward").fit_predict(concatenated(curves))


def dtw_kmeans(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """Cluster by K-means under dynamic time warping, DBA barycentres (tslearn), distributions as channels."""
    from tslearn.clustering import TimeSeriesKMeans

    model = TimeSeriesKMeans(
        n_clusters,
        metric="dtw",
        n_init=n_init,
        max_iter_barycenter=BARYCENTRE_ROUNDS,
        random_state=random_state,
    )
    labels = model.fit_predict(curves)
    assert labels is not None
    return labels


def shape_kmeans(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """Cluster by k-Shape (Paparrizos & Gravano 2015; tslearn) on curves z-normalised per distribution.

    Distance 1 - max over lags of the normalised cross-correlation, zero-padded; the distributions of a
    head share one lag. A lag is a number of grid points, so a ratio of training steps (log step).
    """
    from tslearn.clustering import KShape

    model = KShape(n_clusters, n_init=n_init, random_state=random_state).fit(normalized(curves))
    if not np.isfinite(model.inertia_):  # every start ended in an empty cluster
        return np.full(len(curves), -1)
    assert model.labels_ is not None
    return model.labels_


def sbd_kmeans(curves: np.ndarray, n_clusters: int, random_state: int, n_init: int) -> np.ndarray:
    """Cluster by K-means with the shape-based distance (SBD): each series joins the nearest cluster mean.

    A head's series is its concatenated curves, z-normalised as a whole. So the levels on different
    distributions are part of its shape, and a lag moves the whole series. The paper only says that its method
    is K-means with this distance, independent of scale and offset (F.5.1). This way of removing them, and
    plain means as centres, are ours. ``shape_kmeans`` is k-Shape, whose centres are not means. Starts are
    ``MORE_STARTS`` x ``n_init`` random choices of members. The result is the round whose series are nearest
    to the means of their clusters (summed SBD).
    """
    series = z_score(concatenated(curves))
    random = np.random.default_rng(random_state)
    best, least = np.full(len(series), -1), np.inf
    for _ in range(MORE_STARTS * n_init):
        centres = series[random.choice(len(series), n_clusters, replace=False)]
        seen = np.full(len(series), -1)
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
PUBLISHED = ("euclidean_kmeans", "ward", "dtw_kmeans", "sbd_kmeans")  # those of arXiv 2410.02984, App. F.5


def series(curves: np.ndarray, algorithm: str) -> np.ndarray:
    """Return the series an algorithm compares: [head, point, channel]; one channel if it concatenates."""
    if algorithm == "dtw_kmeans":
        return curves
    if algorithm == "shape_kmeans":
        return normalized(curves)
    row = concatenated(curves)
    return (z_score(row) if algorithm == "sbd_kmeans" else row)[..., None]


def distances(a: np.ndarray, b: np.ndarray, algorithm: str) -> np.ndarray:
    """Return an algorithm's distances [len(a), len(b)] between ``series``: Euclidean, DTW or SBD."""
    if algorithm == "dtw_kmeans":
        from tslearn.metrics import cdist_dtw

        return cdist_dtw(a, b)
    if algorithm in ("shape_kmeans", "sbd_kmeans"):
        return np.asarray([[max(shape_distance(one, other), 0.0) for other in b] for one in a])
    return np.linalg.norm(a[:, None] - b, axis=(2, 3))


def centres(members: np.ndarray, labels: np.ndarray, algorithm: str) -> np.ndarray:
    """Return the centre of each group 0.. of ``series``: the mean, for DTW the barycentre (DBA).

    Raises ValueError for k-Shape, since tslearn cannot compute its centres from labels.
    """
    if algorithm not in PUBLISHED:
        raise ValueError(f"{algorithm} has no centres here: expected one of {', '.join(PUBLISHED)}")
    groups = [members[labels == index] for index in range(labels.max() + 1)]
    if algorithm == "dtw_kmeans":
        return np.stack([_barycentre(group) for group in groups])
    return np.stack([group.mean(axis=0) for group in groups])


def _barycentre(group: np.ndarray) -> np.ndarray:
    from tslearn.barycenters import dtw_barycenter_averaging

    centre = dtw_barycenter_averaging(group, max_iter=BARYCENTRE_ROUNDS)
    assert centre is not None
    return centre


def normalized(curves: np.ndarray) -> np.ndarray:
    """Return curves [head, point, distribution] with mean 0 and standard deviation 1 over the points."""
    return np.moveaxis(z_score(np.moveaxis(curves, 2, 1)), 1, 2)


def concatenated(curves: np.ndarray) -> np.ndarray:
    """Concatenate distributions: [head, point, distribution] -> [head, distribution * point]."""
    return np.moveaxis(curves, 2, 1).reshape(len(curves), -1)


def shape_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the SBD, ``1 - max_lag sum_channels CC_lag / (|a| |b|)``, of two series: 0 to 2.

    Series are [point] or [point, channel].

    CC_lag = sum_t a_{t + lag} b_t, zero outside. The distance ignores scale but not
    offset, so give it z-normalised series.
    """
    a, b = (np.asarray(series, dtype=np.float64).reshape(len(series), -1) for series in (a, b))
    size = np.linalg.norm(a) * np.linalg.norm(b)
    if size == 0.0:
        return 1.0
    over_lags = sum(map(np.convolve, a.T, b[::-1].T), start=np.zeros(len(a) + len(b) - 1))
    return float(1.0 - over_lags.max() / size)
