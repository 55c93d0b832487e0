"""Clusters of heads by algorithm and k: a table, and their curves (arXiv 2410.02984, Figs. 18, 19)."""

from functools import partial
from itertools import combinations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from rllc.analysis.clustering import PUBLISHED
from rllc.analysis.clusters_by_type import AGREEMENT
from rllc.analysis.partitions import adjusted_rand
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import NAN, Datasets, Drawing, Finding, Name, Seed
from rllc.figures.findings import fitting, known
from rllc.figures.heads.behind import Stages
from rllc.figures.heads.clusters_named import cluster_keys, look_of, name_clusters, title_look
from rllc.figures.panels import Panel, Row, curve, layer_panels, sheet, together

WIDTH = 2.3  # inches of a panel of curves
ALL, INTERPOLATED = "all heads", "interpolated"
MAJORITY = (
    "Majority vote: of all algorithms and vectors, K-means with SBD twice. It may have other than k clusters."
)
VOTE, VOTED = "majority vote", ("consensus", "consensus_agreement")
NAMES = {
    "euclidean_kmeans": "Euclidean K-means",
    "ward": "Ward",
    "dtw_kmeans": "DTW K-means",
    "shape_kmeans": "k-Shape",
    "sbd_kmeans": "K-means with SBD",
}
VECTORS = {  # names of the clustered vectors
    INTERPOLATED: "on a uniform grid in log(step + 1)",
    "checkpoints": "at the checkpoints themselves",
    "checkpoints_first": "at the checkpoints themselves",
}


@style.styled
def clusters_all_heads(
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, vectors: str = "interpolated"
) -> Drawing:
    """Clusters of all heads: their curves, and a table of heads by algorithm for every k."""
    one, data = _selected(datasets, ALL, distribution, seed, vectors)
    types = inputs.types_of(datasets, one["head"], one["seed"].expand_dims("seed")).isel(seed=0)
    looks = style.head_styles(types)
    keys = [*style.head_keys(types, looks), *style.ring_keys(inputs.ring_reasons((data, "rllc")))]
    tables = [
        Panel(f"k = {k}", over=partial(_table, data=data.sel(n_clusters=k), named=not i), x="head")
        for i, k in enumerate(one["n_clusters"].values.tolist())
    ]
    curves = Stages(datasets, one["seed"]).behind(one["seed"].item(), layer_panels(data, "rllc", looks, ""))
    rows = [Row("", tables), Row("refined LLC", curves, keys, "head, type")]
    width = max(3.0, 1.0 + 0.27 * one.sizes["head"])  # inches: the labels of all heads are side by side
    figure, axes = sheet(rows, panel=(width, 2.0), margin=0.2)
    together(axes[1])
    return _drawing(datasets, figure, one, data, ALL, vectors)


def rllc_fig18_clusters_layer0(
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, vectors: str = "checkpoints"
) -> Drawing:
    """Clusters of the heads of layer 0 alone, by their rLLCs at the checkpoints, as in the paper."""
    return _grid(datasets, "layer 0", distribution, seed, vectors)


def rllc_fig19_clusters_layer1(
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, vectors: str = "checkpoints"
) -> Drawing:
    """Clusters of the heads of layer 1 alone, by their rLLCs at the checkpoints, as in the paper."""
    return _grid(datasets, "layer 1", distribution, seed, vectors)


def _selected(
    datasets: Datasets, scope: str, distribution: Name, seed: Seed, vectors: str
) -> tuple[xr.Dataset, xr.Dataset]:
    """Return the clusters of a scope and seed, with the curves on one distribution."""
    clusters = inputs.need(datasets, "clusters", "cluster", "score")
    rllc = inputs.need(datasets, "rllc", "rllc")
    one = _by_vectors(_of_scope(clusters, scope, seed), vectors)
    name = inputs.one_distribution(rllc, distribution)
    kept = [variable for variable in ("rllc", "quality") if variable in rllc]
    curves = rllc[kept].sel(seed=one["seed"].item(), distribution=name, head=one["head"].values)
    made = {each: one[each] for each in ("cluster", "score", *VOTED) if each in one}
    return one, curves.drop_attrs(deep=False).assign(made)


@style.styled
def _grid(datasets: Datasets, scope: str, distribution: Name, seed: Seed, vectors: str) -> Drawing:
    """Draw rows of algorithms and columns of numbers of clusters, for one distribution and one seed.

    The clusters use all distributions that clusters.nc names (but for the vectors "checkpoints_first").
    """
    one, data = _selected(datasets, scope, distribution, seed, vectors)
    algorithms, numbers = one["algorithm"].values.tolist(), one["n_clusters"].values.tolist()
    clusterings = [one["cluster"].sel(algorithm=a, n_clusters=k) for a in algorithms for k in numbers]
    voted = [one["consensus"].sel(n_clusters=k) for k in numbers] if "consensus" in one else []
    look = title_look([*clusterings, *voted], width=WIDTH)
    keys = cluster_keys(max([one["cluster"], *voted], key=lambda each: int(each.max())))
    keys += style.ring_keys(inputs.ring_reasons((data, "rllc")))
    own, stages, rows = one["scope"].item() == scope, Stages(datasets, one["seed"]), []
    for method in [*algorithms, *([VOTE] if voted else [])]:
        panels = []
        for k in numbers:
            if method == VOTE:
                cell = data.sel(n_clusters=k)
                cell = cell.assign(cluster=cell["consensus"])
                note = f"agreement {float(cell['consensus_agreement']):.2f}"
            else:
                cell = data.sel(algorithm=method, n_clusters=k)
                note = _silhouette(cell)
            heads = zip(cell["head"].values, cell["cluster"].values.tolist(), strict=True)
            curves = [curve(cell.sel(head=head), "rllc", look_of(cluster)) for head, cluster in heads]
            named = {"cluster": cell["cluster"], "note": note if own else "", "width": WIDTH, "look": look}
            panels.append(Panel(f"k = {k}", curves, look, over=partial(name_clusters, **named)))
        label = f"{NAMES.get(method, method)}\nrefined LLC"
        rows.append(Row(label, stages.behind(one["seed"].item(), panels), [] if rows else keys))
    figure, _ = sheet(rows, panel=(WIDTH, 1.85), margin=1.5, sharex=True, sharey=True)
    return _drawing(datasets, figure, one, data, scope, vectors)


def _drawing(
    datasets: Datasets, figure: style.Figure, one: xr.Dataset, data: xr.Dataset, scope: str, vectors: str
) -> Drawing:
    """Return the drawing; its findings are of the heads drawn."""
    clusters, of_scope = datasets["clusters"], one["scope"].item()
    types = inputs.types_of(datasets, one["head"], one["seed"].expand_dims("seed")).isel(seed=0)
    named = np.atleast_1d(clusters.attrs.get("distributions", [])).tolist() or ["all distributions"]
    used = named[0] if vectors == "checkpoints_first" else ", ".join(named)
    absent = int((one["cluster"] < 0).any(["algorithm", "n_clusters"]).sum())
    whole = [f"The heads of all layers were clustered together: no silhouette is of {scope} alone."]
    heads = scope.replace("layer", "the heads of layer")
    label = inputs.one_label(datasets["rllc"], data["distribution"].item())
    title = f"Clusters of {heads} by their rLLC curves; curves on {label}."
    few = [f"{absent} heads are not clustered: too few of their checkpoints are measured."]
    told = [
        f"Clustered: the curves on {used}, {VECTORS[vectors]}.",
        *([MAJORITY] if "consensus" in data else []),
        *Stages(datasets, one["seed"]).said,
        *(whole if of_scope != scope else []),
        *(few if absent else []),
        *conditions.unreliable(data, "rllc"),
        *conditions.missing(data, "rllc"),
        *conditions.seeds(data),
    ]
    return Drawing(figure, data, title, fitting(_findings(one, types, scope), title, told), told)


def _findings(one: xr.Dataset, types: xr.DataArray, scope: str) -> list[Finding]:
    """Return the agreement of the paper's algorithms, that of clusters with types, and silhouettes.

    one    the clusters of the heads drawn
    types  of these heads
    scope  whose heads they are; silhouettes of a wider scope are left out
    """
    labels = one["cluster"].transpose("algorithm", "n_clusters", "head")
    labels = labels.sel(head=(labels >= 0).all(["algorithm", "n_clusters"]))
    numbers = labels["n_clusters"].values
    of_paper = labels.sel(algorithm=labels["algorithm"].isin(PUBLISHED)).values
    pairs = [agreement(a[k], b[k]) for a, b in combinations(of_paper, 2) for k in range(len(numbers))]
    finite = [each for each in pairs if np.isfinite(each)]
    found = [Finding(f"{AGREEMENT}, on {scope}", float(np.mean(finite)) if finite else NAN)]
    kinds = types.sel(head=labels["head"]).values
    number = int(numbers[np.abs(numbers - len({*kinds})).argmin()])
    vote, typed = _of_vote(one, kinds, number, scope)
    found += vote
    if not (kinds == "unknown").any():
        each = [adjusted_rand(row, kinds) for row in labels.sel(n_clusters=number).values]
        label = f"agreement of clusters (k = {number}) with types of heads, median adjusted Rand index"
        found.append(Finding(label, median(each)))
    found += typed
    silhouette = one["score"].sel(index="silhouette")
    for k in numbers.tolist() if one["scope"].item() == scope else ():
        best = float(silhouette.sel(n_clusters=k).max())
        found.append(Finding(f"highest silhouette of an algorithm, k = {k}", best))
    return known(found)


def _of_vote(
    one: xr.Dataset, kinds: np.ndarray, number: int, scope: str
) -> tuple[list[Finding], list[Finding]]:
    """Return the agreement of the clusterings with their majority vote, and that of the vote with types.

    kinds   types of the heads drawn
    number  of clusters
    """
    own: list[Finding] = []
    typed: list[Finding] = []
    if "consensus" not in one or len(kinds) != one.sizes["head"]:
        return own, typed
    cell = one.sel(n_clusters=number)
    if one["scope"].item() == scope:
        label = f"agreement with the majority vote (k = {number}), mean adjusted Rand index"
        own.append(Finding(label, float(cell["consensus_agreement"])))
    if not (kinds == "unknown").any():
        label = f"adjusted Rand index of the majority vote (k = {number}) with types"
        typed.append(Finding(label, adjusted_rand(cell["consensus"].values, kinds)))
    return own, typed


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    """Return the adjusted Rand index of two clusterings; NaN if both have a single cluster."""
    return adjusted_rand(a, b) if len(np.unique(b)) > 1 else adjusted_rand(b, a)


def median(values: list[float]) -> float:
    """Return the median of the known values; NaN if there is none."""
    finite = [value for value in values if np.isfinite(value)]
    return float(np.median(finite)) if finite else NAN


def _of_scope(clusters: xr.Dataset, scope: str, seed: Seed) -> xr.Dataset:
    """Return the clusters of the heads of a scope for one seed; of all heads if a layer has too few."""
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
    """Return ``cluster``, ``score`` and ``agreement`` of these vectors."""
    if vectors == INTERPOLATED:
        return one
    known = one["vectors"].values.tolist() if "vectors" in one.coords else []
    if vectors not in known:
        raise ValueError(
            f"clusters.nc has no vectors {vectors!r}: expected one of {', '.join([INTERPOLATED, *known])}"
        )
    names = ("cluster", "score", "agreement")
    return one.assign({name: one[f"{name}_checkpoints"].sel(vectors=vectors, drop=True) for name in names})


def _table(ax: Axes, data: xr.Dataset, *, named: bool) -> None:
    """Draw algorithms and their majority vote (rows) by heads (columns), coloured and numbered by cluster.

    Silhouettes stand beside the algorithms. Clusters are numbered by their first head, so that the same
    clusters look the same in every row.
    """
    cluster = data["cluster"].transpose("algorithm", "head")
    heads: list[str] = cluster["head"].values.tolist()
    algorithms: list[str] = cluster["algorithm"].values.tolist()
    found: list[list[int]] = cluster.values.tolist()
    found += [data["consensus"].sel(head=heads).values.tolist()] if "consensus" in data else []
    for y, row in enumerate(found):
        order = list(dict.fromkeys(index for index in row if index >= 0))
        for x, index in enumerate(row):
            number = order.index(index) if index >= 0 else -1
            ax.add_patch(
                Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, color=look_of(number)["color"], alpha=0.75)
            )
            word = str(number + 1) if index >= 0 else "–"
            ax.text(x, y, word, ha="center", va="center", fontsize=8, fontweight="bold")
        if y == len(algorithms):
            continue  # the majority vote has no distance, so no silhouette
        silhouette = float(data["score"].sel(index="silhouette", algorithm=algorithms[y]))
        said = f"{round(silhouette, 2) + 0.0:.2f}" if np.isfinite(silhouette) else "–"
        ax.text(len(heads) - 0.3, y, said, va="center", fontsize=7)
    ax.set_xlim(-0.6, len(heads) + 0.9)
    ax.set_ylim(len(found) - 0.4, -0.6)
    ax.set_xticks(range(len(heads)), heads, fontsize=7)
    names = [NAMES.get(algorithm, algorithm) for algorithm in algorithms] if named else []
    names += [VOTE] if named and "consensus" in data else []
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.set_title("silhouette", loc="right", fontsize=7)


def _silhouette(cell: xr.Dataset) -> str:
    silhouette = float(cell["score"].sel(index="silhouette"))
    return f"silhouette {round(silhouette, 2) + 0.0:.2f}" if np.isfinite(silhouette) else ""
