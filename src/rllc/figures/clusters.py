"""Curves of the heads coloured by cluster, by algorithm and k (arXiv 2410.02984, Figs. 18, 19)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import distribution_labels, distribution_names, need, of_seeds

ALL = "all heads"
NAMES = {
    "euclidean_kmeans": "Euclidean K-means",
    "ward": "Ward",
    "dtw_kmeans": "DTW K-means",
    "shape_kmeans": "shape-based K-means",
}


def clusters_all_heads(
    datasets: Mapping[str, xr.Dataset], *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """Clusters of all heads together: ``clusters`` and ``rllc``."""
    return _grid(datasets, ALL, distribution, seed)


def rllc_fig18_clusters_layer0(
    datasets: Mapping[str, xr.Dataset], *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """Clusters of the heads of layer 0, clustered by themselves: ``clusters`` and ``rllc``."""
    return _grid(datasets, "layer 0", distribution, seed)


def rllc_fig19_clusters_layer1(
    datasets: Mapping[str, xr.Dataset], *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """Clusters of the heads of layer 1, clustered by themselves: ``clusters`` and ``rllc``."""
    return _grid(datasets, "layer 1", distribution, seed)


@style.styled
def _grid(
    datasets: Mapping[str, xr.Dataset], scope: str, distribution: str | None, seed: int | None
) -> Drawing:
    """Rows algorithms, columns numbers of clusters; the curves of one distribution and one seed.

    distribution  default "mixture", or the dataset's first; the clusters use all that clusters.nc names
    seed          default the first
    """
    clusters = need(datasets, "clusters", "cluster", "score")
    rllc = need(datasets, "rllc", "rllc")
    present = clusters["scope"].values.tolist()
    found = scope if scope in present else ALL
    if found not in present:
        raise ValueError(
            f"clusters.nc has no scope {scope!r}, only {', '.join(present)}: draw the figures of those"
        )
    chosen = clusters["seed"].values.tolist()[0] if seed is None else seed
    one = of_seeds(clusters, [chosen]).isel(seed=0)
    one = one.sel(head=one["head_scope"] == found, scope=found)
    if found != scope:  # few heads in a layer: they were clustered together
        one = one.sel(head=one["layer"] == int(scope.removeprefix("layer ")))
        if not one.sizes["head"]:
            raise ValueError(f"clusters.nc has no heads of {scope}")
    name = distribution_names(rllc, None if distribution is None else [distribution], ("mixture",))[0]
    curves = rllc["rllc"].sel(seed=chosen, distribution=name, head=one["head"].values)
    taken = xr.Dataset({"rllc": curves, "cluster": one["cluster"], "score": one["score"]})
    label = distribution_labels(rllc)[name]
    algorithms, numbers = one["algorithm"].values.tolist(), one["n_clusters"].values.tolist()
    figure, axes = style.grid(
        len(algorithms), len(numbers), panel=(2.1, 1.75), margin=1.2, sharex=True, sharey=True
    )
    for line, algorithm in zip(axes, algorithms, strict=True):
        for ax, k in zip(line, numbers, strict=True):
            cell = taken.sel(algorithm=algorithm, n_clusters=k)
            _cell(ax, cell)
            ax.set_title(f"{NAMES.get(algorithm, algorithm)}, k = {k}", loc="left", fontsize=8, pad=14)
            ax.text(0, 1.03, _members(cell["cluster"]), transform=ax.transAxes, fontsize=6)
            style.step_axis(ax, curves["step"].values)
        line[0].set_ylabel("refined LLC")
    most = int(one["cluster"].max()) + 1
    entries = [style.key(f"cluster {i}", color=_color(i)) for i in range(most)]
    if (one["cluster"] < 0).any():
        entries.append(style.key("not clustered", color=_color(-1)))
    style.beside(axes[0, -1], entries)
    return Drawing(figure, taken, _caption(clusters, one, taken, scope, found, label, chosen))


def _color(cluster: int) -> str:
    return "#c4c4c4" if cluster < 0 else style.CLUSTER_COLORS[cluster % len(style.CLUSTER_COLORS)]


def _cell(ax, taken: xr.Dataset) -> None:
    """The curves of one clustering; a dash per head within a cluster, and the silhouette."""
    seen: dict[int, int] = {}
    for head, cluster in zip(taken["head"].values.tolist(), taken["cluster"].values.tolist(), strict=True):
        nth = seen[cluster] = seen.get(cluster, -1) + 1
        dash = style.LINES[nth % len(style.LINES)]
        style.curve(ax, taken["rllc"].sel(head=head), color=_color(cluster), linestyle=dash, linewidth=1.2)
    silhouette = float(taken["score"].sel(index="silhouette"))
    if np.isfinite(silhouette):
        ax.text(
            0.03,
            0.97,
            f"silhouette {round(silhouette, 2) + 0.0:.2f}",
            transform=ax.transAxes,
            va="top",
            fontsize=7,
        )


def _members(cluster: xr.DataArray) -> str:
    groups: dict[int, list[str]] = {}
    for head, index in zip(cluster["head"].values.tolist(), cluster.values.tolist(), strict=True):
        groups.setdefault(index, []).append(head)
    return " | ".join(" ".join(groups[i]) for i in sorted(groups) if i >= 0) or "none"


def _caption(
    clusters: xr.Dataset, one: xr.Dataset, taken: xr.Dataset, scope: str, found: str, label: str, seed: int
) -> str:
    used: Sequence[str] = np.atleast_1d(clusters.attrs.get("distributions", [])).tolist()
    numbers, algorithms = one["n_clusters"].values.tolist(), one["algorithm"].values.tolist()
    said = [
        f"{NAMES.get(a, a)} {_members(one['cluster'].sel(algorithm=a, n_clusters=numbers[0]))}"
        for a in algorithms
    ]
    agreement = ""
    if "agreement" in one and len(algorithms) > 1:
        pairs = one["agreement"].values[np.triu_indices(len(algorithms), 1)]
        if np.isfinite(pairs).any():
            agreement = (
                f"The adjusted Rand index between two algorithms at one k is {np.nanmin(pairs):.2f} to "
                f"{np.nanmax(pairs):.2f} (median {np.nanmedian(pairs):.2f}; 1 is the same "
                "clusters, 0 is chance)."
            )
    absent = int((one["cluster"] < 0).any(["algorithm", "n_clusters"]).sum())
    together = f"The heads of all layers were clustered together, so clusters and silhouettes are of {found}."
    return captions.joined(
        f"Refined LLC of the heads ({scope}) on {label}, training seed {seed}, coloured by cluster; the "
        "heads of each cluster stand above the panel.",
        "" if found == scope else together,
        f"Clusters use the curves on {', '.join(used) or 'all distributions'}, on a uniform grid in "
        "log(step + 1); a lag of the shape-based method is a number of grid points. Numbers and colours mean "
        "nothing across panels.",
        f"At k = {numbers[0]}: {'; '.join(said)}.",
        "The silhouette is in each algorithm's own distance (Euclidean, DTW, shape-based): compare it along "
        "a row, not between algorithms.",
        agreement,
        f"{absent} heads are not clustered somewhere, for want of measured checkpoints." if absent else "",
        captions.failures(taken, "rllc"),
    )
