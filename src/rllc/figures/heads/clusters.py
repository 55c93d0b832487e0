"""Curves of the heads coloured by cluster, by algorithm and k (arXiv 2410.02984, Figs. 18, 19)."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing
from rllc.figures.inputs import need, of_seeds, one_distribution, one_label, ring_reasons
from rllc.figures.panels import Curve, Panel, Row, curve, sheet

ALL = "all heads"
NAMES = {
    "euclidean_kmeans": "Euclidean K-means",
    "ward": "Ward",
    "dtw_kmeans": "DTW K-means",
    "shape_kmeans": "shape-based K-means",
}


def clusters_all_heads(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """Clusters of all heads together: ``clusters`` and ``rllc``."""
    return _grid(datasets, ALL, distribution, seed)


def rllc_fig18_clusters_layer0(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """Clusters of the heads of layer 0, clustered by themselves: ``clusters`` and ``rllc``."""
    return _grid(datasets, "layer 0", distribution, seed)


def rllc_fig19_clusters_layer1(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """Clusters of the heads of layer 1, clustered by themselves: ``clusters`` and ``rllc``."""
    return _grid(datasets, "layer 1", distribution, seed)


@style.styled
def _grid(datasets: Datasets, scope: str, distribution: str | None, seed: int | None) -> Drawing:
    """Rows algorithms, columns numbers of clusters; the curves of one distribution and one seed.

    distribution  default "mixture", or the dataset's first; the clusters use all that clusters.nc names
    """
    clusters = need(datasets, "clusters", "cluster", "score")
    rllc = need(datasets, "rllc", "rllc")
    present = clusters["scope"].values.tolist()
    present_scope = scope if scope in present else ALL
    if present_scope not in present:
        raise ValueError(
            f"clusters.nc has no scope {scope!r}, only {', '.join(present)}: draw the figures of those"
        )
    chosen = clusters["seed"].values.tolist()[0] if seed is None else seed
    one = of_seeds(clusters, [chosen]).isel(seed=0)
    one = one.sel(head=one["head_scope"] == present_scope, scope=present_scope)
    if present_scope != scope:  # few heads in a layer: they were clustered together
        one = one.sel(head=one["layer"] == int(scope.removeprefix("layer ")))
        if not one.sizes["head"]:
            raise ValueError(f"clusters.nc has no heads of {scope}")
    name = one_distribution(rllc, distribution)
    kept = [variable for variable in ("rllc", "verdict") if variable in rllc]
    curves = rllc[kept].sel(seed=chosen, distribution=name, head=one["head"].values)
    data = curves.drop_attrs(deep=False).assign(cluster=one["cluster"], score=one["score"])
    algorithms, numbers = one["algorithm"].values.tolist(), one["n_clusters"].values.tolist()
    cells = [[data.sel(algorithm=algorithm, n_clusters=k) for k in numbers] for algorithm in algorithms]
    lines = max(_words(cell["cluster"])[1] for row in cells for cell in row)
    title_look = {"fontsize": 8, "pad": 5 + 9 * lines}  # points, for the names of the heads
    entries = [style.key(f"cluster {i}", **_look(i)) for i in range(int(one["cluster"].max()) + 1)]
    if (one["cluster"] < 0).any():
        entries.append(style.key("not clustered", **_look(-1)))
    keys = [*entries, *style.ring_keys(ring_reasons((data, "rllc")))]
    rows = [
        Row(
            "refined LLC",
            [
                Panel(
                    f"{NAMES.get(algorithm, algorithm)}, k = {k}",
                    _curves(cell),
                    title_look,
                    over=partial(_name_clusters, data=cell),
                )
                for k, cell in zip(numbers, row, strict=True)
            ],
            keys if algorithm == algorithms[0] else [],
        )
        for algorithm, row in zip(algorithms, cells, strict=True)
    ]
    figure, _ = sheet(rows, panel=(2.2, 1.85), margin=1.5, sharex=True, sharey=True)
    return _drawing(figure, data, clusters, one, scope, present_scope, one_label(rllc, name))


def _look(cluster: int) -> dict:
    """Line properties of a cluster: colour, dash and marker, so that it is known without colour too."""
    if cluster < 0:
        return {"color": "#c4c4c4", "linestyle": "-", "linewidth": 1.0}
    look = style.numbered(cluster, style.CLUSTER_COLORS[cluster % len(style.CLUSTER_COLORS)])
    return look | {"markersize": 3.5, "markevery": 0.15, "linewidth": 1.2}


def _curves(data: xr.Dataset) -> list[Curve]:
    """The curves of one clustering."""
    heads = zip(data["head"].values.tolist(), data["cluster"].values.tolist(), strict=True)
    return [curve(data.sel(head=head), "rllc", _look(cluster)) for head, cluster in heads]


def _name_clusters(ax: Axes, data: xr.Dataset) -> None:
    """The heads of each cluster above the panel, a bar between clusters, and the silhouette in it."""
    placed, lines = _words(data["cluster"])
    for x, line, word, color in placed:
        height = 1.03 + 0.08 * (lines - 1 - line)
        ax.text(x, height, word, transform=ax.transAxes, fontsize=6, fontweight="bold", color=color)
    silhouette = float(data["score"].sel(index="silhouette"))
    if np.isfinite(silhouette):
        ax.text(
            0.03,
            0.97,
            f"silhouette {round(silhouette, 2) + 0.0:.2f}",
            transform=ax.transAxes,
            va="top",
            fontsize=7,
        )


def _groups(cluster: xr.DataArray) -> dict[int, list[str]]:
    """The heads of each cluster; those of none are left out."""
    groups: dict[int, list[str]] = {}
    for head, index in zip(cluster["head"].values.tolist(), cluster.values.tolist(), strict=True):
        groups.setdefault(index, []).append(head)
    return {index: groups[index] for index in sorted(groups) if index >= 0}


def _members(cluster: xr.DataArray) -> str:
    return " | ".join(" ".join(heads) for heads in _groups(cluster).values()) or "none"


def _words(cluster: xr.DataArray) -> tuple[list[tuple[float, int, str, str]], int]:
    """Where the names of the heads stand above a panel: (x, line, word, colour), and the number of lines."""
    words: list[tuple[str, str]] = []
    for index, heads in _groups(cluster).items():
        words += [("|", "#333333")] if words else []
        words += [(head, _look(index)["color"]) for head in heads]
    placed, x, line = [], 0.0, 0
    for word, color in words:
        width = 0.04 if word == "|" else 0.02 + 0.0285 * len(word)
        if x + width > 1.02:
            x, line = 0.0, line + 1
        placed.append((x, line, word, color))
        x += width
    return placed, line + 1


def _drawing(
    figure: Figure,
    data: xr.Dataset,
    clusters: xr.Dataset,
    one: xr.Dataset,
    scope: str,
    of_scope: str,
    label: str,
) -> Drawing:
    used = ", ".join(np.atleast_1d(clusters.attrs.get("distributions", [])).tolist()) or "all distributions"
    first, algorithms = one["n_clusters"].values.tolist()[0], one["algorithm"].values.tolist()
    members = [
        f"{NAMES.get(a, a)} {_members(one['cluster'].sel(algorithm=a, n_clusters=first))}" for a in algorithms
    ]
    agreement = ""
    if "agreement" in one and len(algorithms) > 1:
        pairs = one["agreement"].values[np.triu_indices(len(algorithms), 1)]
        if np.isfinite(pairs).any():
            agreement = (
                f"The adjusted Rand index between two algorithms at one k is {np.nanmin(pairs):.2f} to "
                f"{np.nanmax(pairs):.2f} (median {np.nanmedian(pairs):.2f}; 1 is the same, 0 is chance)."
            )
    absent = int((one["cluster"] < 0).any(["algorithm", "n_clusters"]).sum())
    together = (
        f"The heads of all layers were clustered together, so clusters and silhouettes are of {of_scope}."
    )
    return captions.drawing(
        figure,
        data,
        captions.sentence(f"{scope} at k = {first}: {'; '.join(members)}"),
        agreement,
        f"Curves: refined LLC on {label}, coloured by cluster.",
        "" if of_scope == scope else together,
        f"{absent} heads are not clustered somewhere, for want of measured checkpoints." if absent else "",
        conditions=[
            f"Clusters use the curves on {used}, on a uniform grid in log(step + 1).",
            captions.failures(data, "rllc"),
            captions.trust(data, "rllc"),
        ],
        details=[
            "The silhouette is in each algorithm's own distance (Euclidean, DTW, shape-based): compare it "
            "along a row, not between algorithms. A lag of the shape-based method is a number of grid "
            "points. Numbers and colours mean nothing across panels.",
            captions.cautions(data, "rllc"),
        ],
    )
