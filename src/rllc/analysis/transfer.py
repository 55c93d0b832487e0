"""Transfer clusters of one training seed's heads to other seeds (arXiv 2410.02984, App. G, Figs. 20-22).

The clusters are of the first seed's curves, on one distribution (F.5.4: shape-based ones are best on the Pile
alone). The heads of every other seed join the cluster with the nearest centre. Head labels have no meaning
across seeds. The comparison is which types of heads share a cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from rllc.analysis.clustering import ALGORITHMS, centres, distances, series
from rllc.analysis.clusters import scopes
from rllc.analysis.clusters_by_type import typed
from rllc.analysis.partitions import adjusted_rand, canonical, share_as_alike
from rllc.analysis.trajectories import resample
from rllc.vocabulary import describe

NAN = float("nan")
SHAPE = "sbd_kmeans"  # the paper's shape-based K-means
STARTS = 5  # of the K-means algorithms
UNLIKELY = 0.05  # largest p that counts as unlikely by chance
FEWEST = 3  # least training seeds of a claim about seeds
CELL = ("seed", "scope", "algorithm", "n_clusters")
VARIABLES = {
    "cluster": ("cluster of the first seed that the head is put in, by its first head; -1: none", "1"),
    "distance": ("distance of the head's curve from the centre of its cluster, as the algorithm has it", "1"),
    "centroid": ("centre of the cluster: of z-scored curves for sbd_kmeans, else of refined LLCs", "1"),
    "rand_types": ("adjusted Rand index of the first seed's clusters with the types of the heads", "1"),
    "rand_own": ("adjusted Rand index of the first seed's clusters with the seed's own", "1"),
    "p": ("share of all orders of the heads with at least that index with their types", "1"),
    "types": ("types of heads that there are", "1"),
    "p_least": ("p of clusters that are the types: the least that there can be", "1"),
    "rand_types_mean": ("rand_types of shape-based clusters, mean over other seeds and scopes", "1"),
    "p_of_most": (
        "smallest p that more than half of the other seeds' scopes do not exceed, of those in which p can be "
        "0.05 or less",
        "1",
    ),
    "shape_lead": ("rand_types_mean less the largest such mean of another algorithm", "1"),
}


class _Fit(NamedTuple):
    """Labels [head] of every seed and their distances, and the centres [cluster, point, channel]."""

    labels: np.ndarray
    apart: np.ndarray
    own: np.ndarray
    centre: np.ndarray


def transfer(
    datasets: Mapping[str, xr.Dataset],
    *,
    distribution: str,
    n_clusters: Sequence[int],
    algorithms: Sequence[str],
    points: int | None,
    random_seed: int,
) -> xr.Dataset:
    """Return clusters of the first seed, transferred to the others: the dataset ``transfer.nc``.

    datasets      ``rllc`` (``rllc``, ``rllc_se``; coordinate ``layer``), ``attention_scores`` (``head_type``)
    distribution  the distribution of the clustered curves
    n_clusters    the numbers of clusters, each at least 2 and below the heads of every scope
    algorithms    among ``rllc.analysis.clustering.PUBLISHED``; other seeds' heads join the nearest centre in
                  the algorithm's distance (shape-based: SBD)
    points        as in ``trajectories.resample``, the same for all seeds; None: the checkpoints
    random_seed   starts of the K-means algorithms

    Returns ``cluster``, ``distance`` (seed, head, algorithm, n_clusters), ``centroid`` (scope, algorithm,
    n_clusters, cluster_number, grid), ``rand_types``, ``rand_own``, ``p`` (seed, scope, algorithm,
    n_clusters), ``types`` and ``p_least`` (seed, scope), where a scope is a layer or all heads
    (``clusters.scopes``). The first seed's values describe its original clusters. Heads without a type enter
    no index. Where the heads of a scope have one type, ``rand_types`` and ``p`` are NaN. A head with fewer
    than two measured checkpoints is in no cluster.

    For claims, at the last step: ``rand_types_mean``, ``p_of_most`` and ``shape_lead`` (seed, step), one
    number for all seeds. They use shape-based clusters in other seeds, as many as the first seed has types in
    a scope. NaN with fewer than three seeds.

    Raises ValueError for one seed, seeds with different ranges of steps, or a missing distribution.
    """
    rllc = datasets["rllc"]
    if distribution not in rllc["distribution"].values:
        raise ValueError(f"rllc.nc has no distribution {distribution}; give one of those it has")
    one = rllc.sel(distribution=distribution, drop=True)
    one = one.sortby([one["layer"], one["head_index"]]) if "head_index" in one.coords else one
    _refuse(one["rllc"])
    kinds = typed(datasets["attention_scores"]["head_type"], one["seed"], one["head"])
    groups, ks = scopes(one["layer"].values), sorted({int(k) for k in n_clusters})
    grid = resample(one["rllc"], points=points).transpose("seed", "head", "grid")
    made = _carried(grid, kinds.values, groups, list(algorithms), ks, random_seed % 2**32)
    coords = {
        **{name: coord for name, coord in one.coords.items() if set(coord.dims) == {"head"}},
        "seed": one["seed"],
        "head_scope": ("head", np.select(list(groups.values()), list(groups), "").astype(object)),
        "scope": list(groups),
        "algorithm": list(algorithms),
        "n_clusters": ks,
        "cluster_number": np.arange(ks[-1]),
        "grid": grid["grid"],
        "grid_step": grid["grid_step"],
    }
    result, last = made.assign_coords(coords), one["step"] == one["step"][-1]
    result = result.assign({name: value.where(last) for name, value in _pooled(result).items()})
    first = int(one["seed"][0])
    attributes = {"distribution": distribution, "first_seed": first, "grid_points": grid.sizes["grid"]}
    return describe(result.sel(head=rllc["head"].values), VARIABLES).assign_attrs(attributes)


def _refuse(curves: xr.DataArray) -> None:
    """Raise ValueError for a single seed, or for seeds with different ranges of steps."""
    seeds = curves["seed"].values.tolist()
    if len(seeds) < 2:
        raise ValueError(f"clusters are carried over to other training seeds; rllc.nc has {seeds}: train two")
    steps = curves["step"].values
    measured = np.any(np.isfinite(curves.transpose("seed", "step", "head").values), axis=-1)
    ends = (steps[row][[0, -1]].tolist() if row.any() else [] for row in measured)
    ranges = dict(zip(seeds, ends, strict=True))
    if any(each != ranges[seeds[0]] for each in ranges.values()):
        told = ", ".join(f"{seed}: {' to '.join(map(str, each)) or 'none'}" for seed, each in ranges.items())
        raise ValueError(f"training seeds are measured over unlike steps ({told}): expected one range of all")


def _carried(
    grid: xr.DataArray, kinds: np.ndarray, groups: Mapping[str, np.ndarray], algorithms: Sequence[str],
    ks: Sequence[int], random_state: int,
) -> xr.Dataset:  # fmt: skip
    """Return all variables except the numbers for claims, from curves (seed, head, grid)."""
    curves = grid.values
    (seeds, heads, points), known = curves.shape, np.all(np.isfinite(curves), axis=-1)
    has_type = kinds != "unknown"
    at = (len(algorithms), len(ks))
    label = np.full((seeds, heads, *at), -1, dtype=np.int32)
    apart = np.full((seeds, heads, *at), NAN)
    centre = np.full((len(groups), *at, ks[-1], points), NAN)
    types, own, p = (np.full((seeds, len(groups), *at), NAN) for _ in range(3))
    count = np.zeros((seeds, len(groups)), dtype=np.int32)
    least = np.full((seeds, len(groups)), NAN)
    for g, mask in enumerate(groups.values()):
        usable = [np.flatnonzero(mask & row) for row in known]
        of_scope = [kinds[s, mask & has_type[s]].astype(str) for s in range(seeds)]
        count[:, g] = [len(np.unique(each)) for each in of_scope]
        least[:, g] = [share_as_alike(each, each) for each in of_scope]
        for (a, algorithm), (k, number) in ((a, k) for a in enumerate(algorithms) for k in enumerate(ks)):
            members = [curves[s, usable[s], :, None] for s in range(seeds)]
            fits = _fitted(members, algorithm, number, random_state)
            if fits is None:
                continue
            centre[g, a, k, :number] = fits[0].centre[..., 0]
            for s, fit in enumerate(fits):
                label[s, usable[s], a, k], apart[s, usable[s], a, k] = fit.labels, fit.apart
                of = has_type[s, usable[s]]
                types[s, g, a, k] = adjusted_rand(fit.labels[of], kinds[s, usable[s]][of])
                p[s, g, a, k] = share_as_alike(fit.labels[of], kinds[s, usable[s]][of])
                own[s, g, a, k] = adjusted_rand(fit.labels, fit.own) if len(fit.own) else NAN
    ofs = ("seed", "head", "algorithm", "n_clusters")
    return xr.Dataset(
        {
            "cluster": (ofs, label),
            "distance": (ofs, apart),
            "centroid": (("scope", "algorithm", "n_clusters", "cluster_number", "grid"), centre),
            "rand_types": (CELL, types),
            "rand_own": (CELL, own),
            "p": (CELL, p),
            "types": (("seed", "scope"), count),
            "p_least": (("seed", "scope"), least),
        }
    )


def _fitted(members: list[np.ndarray], algorithm: str, number: int, random_state: int) -> list[_Fit] | None:
    """Return the first member's fit applied to all ``members`` [head, point, 1]; None if impossible."""
    own = [_labels(each, algorithm, number, random_state) for each in members]
    if not len(own[0]):
        return None
    compared = [series(each, algorithm) for each in members]
    centre = centres(compared[0], own[0], algorithm)
    fits = []
    for s, each in enumerate(compared):
        away = distances(each, centre, algorithm) if len(each) else np.empty((0, number))
        labels = own[0] if s == 0 else away.argmin(axis=1).astype(np.int32)
        fits.append(_Fit(labels, away[np.arange(len(labels)), labels], own[s], centre))
    return fits


def _labels(curves: np.ndarray, algorithm: str, number: int, random_state: int) -> np.ndarray:
    """Return a seed's own clusters of heads, in the order of their first head; empty if impossible."""
    if len(curves) <= number:
        return np.empty(0, dtype=np.int32)
    labels = canonical(ALGORITHMS[algorithm](curves, number, random_state, STARTS))
    return labels if labels.min() >= 0 else np.empty(0, dtype=np.int32)


def _pooled(made: xr.Dataset) -> dict[str, xr.DataArray]:
    """Return numbers over all other seeds, with as many clusters as the first seed has types."""
    seeds = made["seed"]
    means: dict[str, float] = {}
    of_shape: list[float] = []
    for algorithm in made["algorithm"].values.tolist():
        cells = [*_cells(made.sel(algorithm=algorithm))]
        means[algorithm] = float(np.mean([index for index, _, _ in cells])) if cells else NAN
        if algorithm == SHAPE:
            of_shape = [p for _, p, least in cells if least <= UNLIKELY]
    enough = seeds.size >= FEWEST
    shape = means.pop(SHAPE, NAN)
    numbers = {
        "rand_types_mean": shape,
        "p_of_most": sorted(of_shape)[len(of_shape) // 2] if of_shape else NAN,
        "shape_lead": shape - max(means.values(), default=NAN),
    }
    if not enough:
        numbers = dict.fromkeys(numbers, NAN)
    return {name: xr.full_like(seeds, value, dtype=float) for name, value in numbers.items()}


def _cells(one: xr.Dataset) -> Iterator[tuple[float, float, float]]:
    """Yield index, p and least possible p of every other seed and scope where they exist."""
    for scope in one["scope"].values.tolist():
        k = int(one["types"].sel(scope=scope)[0])
        if k not in one["n_clusters"].values:
            continue
        cell = one.sel(scope=scope, n_clusters=k).isel(seed=slice(1, None))
        columns = (cell[name].values.tolist() for name in ("rand_types", "p", "p_least"))
        yield from (row for row in zip(*columns, strict=True) if np.isfinite(row[0]))
