"""Clusters of heads by algorithm and k: a table, and their curves (arXiv 2410.02984, Figs. 18, 19)."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seed
from rllc.figures.heads.clusters_named import cluster_keys, groups, look_of, name_clusters, title_look
from rllc.figures.panels import Panel, Row, curve, layer_panels, sheet, together

WIDTH = 2.3  # inches of a panel of curves
ALL, INTERPOLATED = "all heads", "interpolated"
TOGETHER = "The heads of all layers were clustered together, so clusters and silhouettes are of"
NAMES = {
    "euclidean_kmeans": "Euclidean K-means",
    "ward": "Ward",
    "dtw_kmeans": "DTW K-means",
    "shape_kmeans": "k-Shape",
    "sbd_kmeans": "K-means with SBD",
}
VECTORS = {  # what is clustered, in words
    INTERPOLATED: "on a uniform grid in log(step + 1)",
    "checkpoints": "at the checkpoints themselves",
    "checkpoints_first": "at the checkpoints, {} alone",
}


@style.styled
def clusters_all_heads(
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, vectors: str = "interpolated"
) -> Drawing:
    """Clusters of all heads together: their curves, and a table of heads by algorithm for every k."""
    one, data = _selected(datasets, ALL, distribution, seed, vectors)
    types = inputs.types_of(datasets, one["head"], one["seed"].expand_dims("seed")).isel(seed=0)
    looks = style.head_styles(types)
    keys = [*style.head_keys(types, looks), *style.ring_keys(inputs.ring_reasons((data, "rllc")))]
    tables = [
        Panel(f"k = {k}", over=partial(_table, data=data.sel(n_clusters=k), named=not i), x="head")
        for i, k in enumerate(one["n_clusters"].values.tolist())
    ]
    rows = [Row("", tables), Row("refined LLC", layer_panels(data, "rllc", looks, ""), keys, "head, type")]
    width = max(3.0, 1.0 + 0.27 * one.sizes["head"])  # inches: the names of all heads stand side by side
    figure, axes = sheet(rows, panel=(width, 2.0), margin=0.2)
    together(axes[1])
    return _drawing(datasets, figure, one, data, ALL, vectors)


def rllc_fig18_clusters_layer0(
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, vectors: str = "checkpoints"
) -> Drawing:
    """Clusters of the heads of layer 0, clustered by themselves; by the paper's vectors."""
    return _grid(datasets, "layer 0", distribution, seed, vectors)


def rllc_fig19_clusters_layer1(
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, vectors: str = "checkpoints"
) -> Drawing:
    """Clusters of the heads of layer 1, clustered by themselves; by the paper's vectors."""
    return _grid(datasets, "layer 1", distribution, seed, vectors)


def _selected(
    datasets: Datasets, scope: str, distribution: Name, seed: Seed, vectors: str
) -> tuple[xr.Dataset, xr.Dataset]:
    """The clusters of a scope and seed, and with them the curves on one distribution."""
    clusters = inputs.need(datasets, "clusters", "cluster", "score")
    rllc = inputs.need(datasets, "rllc", "rllc")
    one = _by_vectors(_of_scope(clusters, scope, seed), vectors)
    name = inputs.one_distribution(rllc, distribution)
    kept = [variable for variable in ("rllc", "verdict") if variable in rllc]
    curves = rllc[kept].sel(seed=one["seed"].item(), distribution=name, head=one["head"].values)
    return one, curves.drop_attrs(deep=False).assign(cluster=one["cluster"], score=one["score"])


@style.styled
def _grid(datasets: Datasets, scope: str, distribution: Name, seed: Seed, vectors: str) -> Drawing:
    """Rows algorithms, columns numbers of clusters; the curves of one distribution and one seed.

    The clusters use all distributions that clusters.nc names (but for the vectors "checkpoints_first").
    """
    one, data = _selected(datasets, scope, distribution, seed, vectors)
    algorithms, numbers = one["algorithm"].values.tolist(), one["n_clusters"].values.tolist()
    clusterings = [one["cluster"].sel(algorithm=a, n_clusters=k) for a in algorithms for k in numbers]
    look = title_look(clusterings, width=WIDTH)
    keys = cluster_keys(one["cluster"])
    keys += style.ring_keys(inputs.ring_reasons((data, "rllc")))
    rows = []
    for algorithm in algorithms:
        panels = []
        for k in numbers:
            cell = data.sel(algorithm=algorithm, n_clusters=k)
            heads = zip(cell["head"].values, cell["cluster"].values.tolist(), strict=True)
            curves = [curve(cell.sel(head=head), "rllc", look_of(cluster)) for head, cluster in heads]
            note = _silhouette(cell)
            over = partial(name_clusters, cluster=cell["cluster"], note=note, width=WIDTH, look=look)
            panels.append(Panel(f"k = {k}", curves, look, over=over))
        label = f"{NAMES.get(algorithm, algorithm)}\nrefined LLC"
        rows.append(Row(label, panels, [] if rows else keys))
    figure, _ = sheet(rows, panel=(WIDTH, 1.85), margin=1.5, sharex=True, sharey=True)
    return _drawing(datasets, figure, one, data, scope, vectors)


def _drawing(
    datasets: Datasets, figure: style.Figure, one: xr.Dataset, data: xr.Dataset, scope: str, vectors: str
) -> Drawing:
    """The drawing with what was found: clusters at the first k, agreement, what was clustered."""
    clusters, rllc = datasets["clusters"], datasets["rllc"]
    algorithms, numbers = one["algorithm"].values.tolist(), one["n_clusters"].values.tolist()
    members = []
    for algorithm in algorithms:
        found = groups(one["cluster"].sel(algorithm=algorithm, n_clusters=numbers[0])).values()
        each = " | ".join(" ".join(heads) for heads in found) or "none"
        members.append(f"{NAMES.get(algorithm, algorithm)} {each}")
    named = np.atleast_1d(clusters.attrs.get("distributions", [])).tolist() or ["all distributions"]
    used = named[0] if vectors == "checkpoints_first" else ", ".join(named)
    same, by_algorithm = _of_vectors(one, named[0])
    of_scope = one["scope"].item()
    absent = int((one["cluster"] < 0).any(["algorithm", "n_clusters"]).sum())
    return captions.drawing(
        figure,
        data,
        _agreement(one, scope),
        _with_types(one, vectors),
        captions.sentence(f"{scope} at k = {numbers[0]}: {'; '.join(members)}"),
        same,
        f"Curves: refined LLC on {inputs.one_label(rllc, data['distribution'].item())}.",
        captions.when(of_scope != scope, f"{TOGETHER} {of_scope}."),
        captions.when(
            absent, f"{absent} heads are not clustered somewhere, for want of measured checkpoints."
        ),
        conditions=[
            f"Clusters use the curves on {used}, {VECTORS[vectors].partition(',')[0]}.",
            captions.failures(data, "rllc"),
            captions.trust(data, "rllc"),
        ],
        details=[
            "The silhouette is in each algorithm's own distance (Euclidean, DTW, shape-based): compare it "
            "along a row, not between algorithms. A lag of the shape-based methods is a number of points. "
            "Numbers and colours mean nothing across panels.",
            by_algorithm,
            captions.cautions(data, "rllc"),
        ],
    )


def _of_scope(clusters: xr.Dataset, scope: str, seed: Seed) -> xr.Dataset:
    """Clusters of the heads of a scope for one seed; of all heads where few in a layer were so clustered."""
    present = clusters["scope"].values.tolist()
    of_scope = scope if scope in present else ALL
    if of_scope not in present:
        raise ValueError(
            f"clusters.nc has no scope {scope!r}, only {', '.join(present)}: draw the figures of those"
        )
    one = inputs.of_seed(clusters, seed)
    one = one.sel(head=one["head_scope"] == of_scope, scope=of_scope)
    if of_scope != scope:
        one = one.sel(head=one["layer"] == int(scope.removeprefix("layer ")))
    if not one.sizes["head"]:
        raise ValueError(f"clusters.nc has no heads of {scope}")
    return one


def _by_vectors(one: xr.Dataset, vectors: str) -> xr.Dataset:
    """``cluster``, ``score`` and ``agreement`` of these vectors."""
    if vectors == INTERPOLATED:
        return one
    known = one["vectors"].values.tolist() if "vectors" in one.coords else []
    if vectors not in known:
        raise ValueError(
            f"clusters.nc has no vectors {vectors!r}: expected one of {', '.join([INTERPOLATED, *known])}"
        )
    names = ("cluster", "score", "agreement")
    return one.assign({name: one[f"{name}_checkpoints"].sel(vectors=vectors, drop=True) for name in names})


def _of_vectors(one: xr.Dataset, first: str) -> tuple[str, str]:
    """How far clusters by the checkpoints are those by interpolated curves: in short, and by algorithm."""
    if "agreement_vectors" not in one:
        return "", ""
    every = one["agreement_vectors"].transpose("vectors", "algorithm", "n_clusters")
    short, long = [], []
    for vectors, rows in zip(every["vectors"].values.tolist(), every.values, strict=True):
        where, known = VECTORS[vectors].format(first), rows[np.isfinite(rows)]
        if known.size:
            short.append(f"{where}, {known.min():.2f} to {known.max():.2f} (median {np.median(known):.2f})")
        each = (
            f"{NAMES.get(name, name)} {' '.join(f'{value:.2f}' for value in row)}"
            for name, row in zip(every["algorithm"].values.tolist(), rows, strict=True)
        )
        long.append(f"{where}: {', '.join(each)}")
    what = "The adjusted Rand index with clusters of interpolated curves is, for curves"
    said = captions.when(short, captions.sentence(f"{what} {'; '.join(short)}"))
    return said, captions.sentence(f"That index by algorithm and k, for curves {'; '.join(long)}")


def _table(ax: Axes, data: xr.Dataset, *, named: bool) -> None:
    """Rows algorithms, columns heads, coloured and numbered by cluster; the silhouette after each row.

    Clusters are numbered by their first head, so that the same clusters look the same in every row.
    """
    cluster = data["cluster"].transpose("algorithm", "head")
    heads, algorithms = cluster["head"].values.tolist(), cluster["algorithm"].values.tolist()
    for y, row in enumerate(cluster.values.tolist()):
        order = list(dict.fromkeys(index for index in row if index >= 0))
        for x, index in enumerate(row):
            number = order.index(index) if index >= 0 else -1
            ax.add_patch(
                Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, color=look_of(number)["color"], alpha=0.75)
            )
            word = number + 1 if index >= 0 else "–"
            ax.text(x, y, word, ha="center", va="center", fontsize=8, fontweight="bold")
        silhouette = float(data["score"].sel(index="silhouette", algorithm=algorithms[y]))
        said = f"{round(silhouette, 2) + 0.0:.2f}" if np.isfinite(silhouette) else "–"
        ax.text(len(heads) - 0.3, y, said, va="center", fontsize=7)
    ax.set_xlim(-0.6, len(heads) + 0.9)
    ax.set_ylim(len(algorithms) - 0.4, -0.6)
    ax.set_xticks(range(len(heads)), heads, fontsize=7)
    names = [NAMES.get(algorithm, algorithm) for algorithm in algorithms] if named else []
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.set_title("silhouette", loc="right", fontsize=7)


def _silhouette(cell: xr.Dataset) -> str:
    silhouette = float(cell["score"].sel(index="silhouette"))
    return f"silhouette {round(silhouette, 2) + 0.0:.2f}" if np.isfinite(silhouette) else ""


def _agreement(one: xr.Dataset, scope: str) -> str:
    """How far the clusters of two algorithms are the same; nothing with one algorithm."""
    every = one.get("agreement", xr.DataArray(np.empty((0, 0)))).values
    pairs = every[np.triu_indices(len(every), 1)]
    pairs = pairs[np.isfinite(pairs)]
    if not pairs.size:
        return ""
    return (
        f"Two algorithms' clusters of {scope} agree by an adjusted Rand index (1 is the same, 0 chance) of "
        f"{np.median(pairs):.2f} in the median, {pairs.min():.2f} to {pairs.max():.2f}."
    )


def _with_types(one: xr.Dataset, vectors: str) -> str:
    """How far clusters are types of heads: by the checkpoints' curves alone, of which the dataset has it."""
    if vectors != "checkpoints":
        return ""
    found = {
        name: float(one[variable].isel(step=-1))
        for name, variable in (("k-Shape", "rand_types_kshape"), ("K-means with SBD", "rand_types_shape"))
        if variable in one
    }
    said = [f"{value:.2f} by {name}" for name, value in found.items() if np.isfinite(value)]
    text = "With the types of heads, at as many clusters as types, that index is"
    return captions.when(said, f"{text} {' and '.join(said)} (mean over scopes).")
