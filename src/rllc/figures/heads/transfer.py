"""Clusters of one training seed in others, and the others' refined LLCs (arXiv 2410.02984, Figs. 20-23)."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Names, Seed, Seeds
from rllc.figures.findings import known
from rllc.figures.heads import head_findings
from rllc.figures.heads.behind import Stages
from rllc.figures.heads.clusters_named import cluster_keys, look_of, name_clusters, title_look
from rllc.figures.heads.head_findings import at_end
from rllc.figures.panels import Panel, Row, by_seed, curve, of_heads, sheet
from rllc.figures.uncertain import mark

SHAPE = "sbd_kmeans"
WIDTH = 2.8  # inches of a panel of curves
SHORT = {"previous-token": "p", "current-token": "c", "induction": "i", "multigram": "m", "unknown": "?"}
LETTERS = "i induction, p previous-token, c current-token, m multigram"


def rllc_fig20_cluster_transfer(datasets: Datasets, *, seed: Seed = None) -> Drawing:
    """Shape-based clusters of the first seed's heads, and where the second seed's (or `seed`'s) belong."""
    return _of_seed(datasets, seed, 1)


def rllc_fig21_cluster_transfer(datasets: Datasets, *, seed: Seed = None) -> Drawing:
    """Shape-based clusters of the first seed's heads, and where the third seed's (or `seed`'s) belong."""
    return _of_seed(datasets, seed, 2)


def rllc_fig22_cluster_transfer(datasets: Datasets, *, seed: Seed = None) -> Drawing:
    """Shape-based clusters of the first seed's heads, and where the fourth seed's (or `seed`'s) belong."""
    return _of_seed(datasets, seed, 3)


@style.styled
def _of_seed(datasets: Datasets, seed: Seed, place: int) -> Drawing:
    """Draw rows of scopes, of the first seed and then of the other, and columns of numbers of clusters.

    Curves are refined LLCs on the distribution whose curves were clustered.
    """
    whole = inputs.need(datasets, "transfer", "cluster", "rand_types", "rand_own", "p", "p_least")
    rllc = inputs.need(datasets, "rllc", "rllc")
    seeds = whole["seed"].values.tolist()
    if seed is None and len(seeds) <= place:
        raise ValueError(
            f"transfer.nc has no training seed after {place}; it has {seeds}: name one of these as `seed`"
        )
    other = inputs.of_seed(whole, seed)["seed"].item() if seed is not None else seeds[place]
    first = seeds[0]
    if other == first:
        raise ValueError(f"seed {first} is the seed whose clusters are transferred; draw one of {seeds[1:]}")
    names = ["cluster", "distance", "rand_types", "rand_own", "p", "p_least"]
    one = whole[names].sel(seed=[first, other], algorithm=SHAPE, drop=True)
    name = whole.attrs["distribution"]
    kept = [variable for variable in ("rllc", "rllc_se", "quality") if variable in rllc]
    curves = rllc[kept].sel(seed=[first, other], distribution=name, head=one["head"].values)
    data = xr.merge([curves.drop_attrs(deep=False), one], join="left", compat="override")
    data = data.assign(head_type=inputs.types_of(datasets, data["head"], data["seed"]))
    stages = Stages(datasets, data["seed"])
    figure = _sheet(data, first, stages)
    label, types = inputs.one_label(rllc, name), whole["types"].sel(seed=first)
    return Drawing(
        figure,
        data.drop_vars("head_type"),  # colours do not mean types here
        f"Clusters of seed {first}'s heads carried over to seed {other}, by rLLC curves on {label}.",
        _findings(data.sel(seed=other), types, other),
        [
            "Clusters: K-means with the shape-based distance. p: by permutation of heads.",
            f"Types after heads: {LETTERS}.",
            *stages.said,
            *_too_few(data.sel(seed=other), types),
            *conditions.unreliable(data, "rllc"),
            *conditions.missing(data, "rllc"),
            *conditions.seeds(data),
        ],
    )


def _sheet(data: xr.Dataset, first: int, stages: Stages) -> style.Figure:
    keys = [*cluster_keys(data["cluster"]), *style.ring_keys(inputs.ring_reasons((data, "rllc")))]
    numbers, rows = data["n_clusters"].values.tolist(), []
    every = [_typed(cell) for _, _, cell in by_seed(data) for cell in _of_scopes(cell).values()]
    look = title_look([each["cluster"].sel(n_clusters=k) for each in every for k in numbers], width=WIDTH)
    for scope in data["scope"].values.tolist():
        for seed, _, cell in by_seed(data):
            inside = _of_scopes(cell)[scope]
            panels = []
            for k in numbers:
                at = inside.sel(n_clusters=k)
                heads = zip(at["head"].values, at["cluster"].values.tolist(), strict=True)
                lines = [curve(at.sel(head=head), "rllc", look_of(index)) for head, index in heads]
                index, p = (float(at[name].sel(scope=scope)) for name in ("rand_types", "p"))
                note = f"Rand index {index:.2f}, p = {p:.2g}" if np.isfinite(index) else "one type of head"
                names = {"cluster": _typed(at)["cluster"], "note": note, "width": WIDTH, "look": look}
                panels.append(Panel(f"k = {k}", lines, look, over=partial(name_clusters, **names)))
            whose = "clustered" if seed == first else "carried over"
            label = f"seed {seed}, {scope}\n{whose}\nrefined LLC"
            rows.append(Row(label, stages.behind(seed, panels), [] if rows else keys))
    return sheet(rows, panel=(WIDTH, 1.9), margin=1.5, sharex=True, sharey="row")[0]


def _of_scopes(one: xr.Dataset) -> dict[str, xr.Dataset]:
    """Return the heads of each scope."""
    return {scope: one.sel(head=one["head_scope"] == scope) for scope in one["scope"].values.tolist()}


def _typed(one: xr.Dataset) -> xr.Dataset:
    """Return the data with heads named by their label and the letter of their type: "1:3i", "1:3i?"."""
    kinds = [one["head_type"].sel(head=head) for head in one["head"].values]
    named = [f"{kind['head'].item()}{SHORT[kind.item()]}{mark(kind)}" for kind in kinds]
    return one.assign_coords(head=named)


def _at_types(one: xr.Dataset, types: xr.DataArray) -> dict[str, xr.Dataset]:
    """Return the data of each scope with as many clusters as the first seed has types there.

    Scopes without that number of clusters, or whose heads have a single type, are left out.
    """
    numbers = {scope: int(types.sel(scope=scope)) for scope in one["scope"].values.tolist()}
    cells = {
        scope: one.sel(scope=scope, n_clusters=k)
        for scope, k in numbers.items()
        if k in one["n_clusters"].values
    }
    return {scope: cell for scope, cell in cells.items() if np.isfinite(cell["rand_types"])}


def _findings(one: xr.Dataset, types: xr.DataArray, seed: int) -> list[Finding]:
    """Return for each scope the agreement of transferred clusters with types of heads, and that by chance."""
    found = []
    for scope, cell in _at_types(one, types).items():
        number = int(cell["n_clusters"])
        label = f"adjusted Rand index with the types of seed {seed}, {scope}, k = {number}"
        found.append(Finding(label, float(cell["rand_types"])))
        found.append(Finding(f"p of the index of {scope}", float(cell["p"])))
    return known(found)


def _too_few(one: xr.Dataset, types: xr.DataArray) -> list[str]:
    """Return a sentence on scopes with too few heads for a p of 0.05 or less."""
    return [
        f"Too few heads: p of {scope} is at least {least:.2g}."
        for scope, cell in _at_types(one, types).items()
        if (least := float(cell["p_least"])) > 0.05
    ]


@style.styled
def rllc_fig23_other_seeds(
    datasets: Datasets, *, distributions: Names = None, seeds: Seeds = None
) -> Drawing:
    """Refined LLC of each head. Rows: training seeds (default: all but the first). Columns: distributions.

    distributions  default "mixture" and "code"
    """
    every = inputs.need(datasets, "rllc", "rllc")["seed"].values.tolist()
    if seeds is None and len(every) < 2:
        raise ValueError(
            f"rllc.nc has the training seed {every[0]} only: train other seeds, or name it in `seeds`"
        )
    seeds = every[1:] if seeds is None else seeds
    data = inputs.over_heads(datasets, "rllc", "rllc", also=("rllc_se", "status", "quality"), seeds=seeds)
    data = data.sel(distribution=inputs.distribution_names(data, distributions, ("mixture", "code")))
    labels, rows = inputs.distribution_labels(data), []
    rings = style.ring_keys(inputs.ring_reasons((data, "rllc")))
    stages = Stages(datasets, data["seed"])
    for seed in data["seed"].values.tolist():
        one = data.sel(seed=seed)
        looks = style.head_styles(one["head_type"])
        panels = [
            Panel(f"seed {seed}: {style.short(label)}", of_heads(one.sel(distribution=name), "rllc", looks))
            for name, label in labels.items()
        ]
        keys = [*style.head_keys(one["head_type"], looks), *([] if rows else rings)]
        rows.append(Row("refined LLC", stages.behind(seed, panels), keys, "head, type"))
    entries = data.sizes["head"] + len(rings)
    figure, _ = sheet(rows, panel=(3.1, 2.6), entries=entries, sharex=True, sharey=True)
    ends = [*stages.said, *conditions.of_estimates(datasets["rllc"], data, "rllc")]
    title = f"rLLC of each head over training on {head_findings.labels(data)}, of other training seeds."
    return Drawing(figure, data, title, _of_seeds(data, labels), ends)


def _of_seeds(data: xr.Dataset, said: Mapping[str, str]) -> list[Finding]:
    """Return the highest heads of the last layer, and the number of seeds where it is an induction head."""
    last, layer = at_end(data, "rllc"), inputs.layers(data)[-1]
    top, found, total = inputs.of_layer(last, layer), [], data.sizes["seed"]
    kinds = data["head_type"]
    if not (kinds == "unknown").any():
        some = int((kinds == "induction").any("head").sum())
        found.append(Finding(f"seeds, of {total}, with an induction head", some))
    for name in [*said][: head_findings.LISTED]:
        one = top.sel(distribution=name)
        where = f"of layer {layer} on {said[name]}"
        found += head_findings.highest(one, "rllc", "rLLC", where)
        if total > 1 and found and "induction" in kinds.values:
            best = one["rllc"].fillna(-np.inf).argmax("head")
            number = int((one["head_type"].isel(head=best) == "induction").sum())
            label = f"seeds, of {total}, where an induction head is highest {where}"
            found.append(Finding(label, number))
    return found
