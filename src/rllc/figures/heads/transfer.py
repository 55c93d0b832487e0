"""Clusters of one training seed in others, and the others' refined LLCs (arXiv 2410.02984, Figs. 20-23)."""

from functools import partial

import numpy as np
import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Names, Seed, Seeds
from rllc.figures.heads.clusters_named import cluster_keys, look_of, name_clusters, title_look
from rllc.figures.panels import Panel, Row, by_seed, curve, of_heads, sheet

SHAPE = "sbd_kmeans"
WIDTH = 2.8  # inches of a panel of curves
SHORT = {"previous-token": "p", "current-token": "c", "induction": "i", "multigram": "m", "unknown": "?"}
LETTERS = "i induction, p previous-token, c current-token, m multigram (all others)"


def rllc_fig20_cluster_transfer(datasets: Datasets, *, seed: Seed = None) -> Drawing:
    """The first seed's shape-based clusters, and the heads of the second seed (or of ``seed``) in them."""
    return _of_seed(datasets, seed, 1)


def rllc_fig21_cluster_transfer(datasets: Datasets, *, seed: Seed = None) -> Drawing:
    """The first seed's shape-based clusters, and the heads of the third seed (or of ``seed``) in them."""
    return _of_seed(datasets, seed, 2)


def rllc_fig22_cluster_transfer(datasets: Datasets, *, seed: Seed = None) -> Drawing:
    """The first seed's shape-based clusters, and the heads of the fourth seed (or of ``seed``) in them."""
    return _of_seed(datasets, seed, 3)


@style.styled
def _of_seed(datasets: Datasets, seed: Seed, place: int) -> Drawing:
    """Rows scopes, of the first seed and below it of the other; columns numbers of clusters.

    Curves are refined LLCs on the distribution whose curves were clustered.
    """
    whole = inputs.need(datasets, "transfer", "cluster", "rand_types", "rand_own", "p", "p_least")
    rllc = inputs.need(datasets, "rllc", "rllc")
    seeds = whole["seed"].values.tolist()
    if seed is None and len(seeds) <= place:
        raise ValueError(f"transfer.nc has no training seed after {place}; it has {seeds}: say which")
    other = inputs.of_seed(whole, seed)["seed"].item() if seed is not None else seeds[place]
    first = seeds[0]
    if other == first:
        raise ValueError(f"seed {first} is that whose clusters are carried over; draw one of {seeds[1:]}")
    names = ["cluster", "distance", "rand_types", "rand_own", "p", "p_least"]
    one = whole[names].sel(seed=[first, other], algorithm=SHAPE, drop=True)
    name = whole.attrs["distribution"]
    kept = [variable for variable in ("rllc", "rllc_se", "verdict") if variable in rllc]
    curves = rllc[kept].sel(seed=[first, other], distribution=name, head=one["head"].values)
    data = xr.merge([curves.drop_attrs(deep=False), one], join="left", compat="override")
    data = data.assign(head_type=inputs.types_of(datasets, data["head"], data["seed"]))
    figure = _sheet(data, first)
    scopes = one["scope"].values.tolist()
    found = "; ".join(
        _finding(data.sel(seed=other), scope, whole["types"].sel(seed=first, scope=scope)) for scope in scopes
    )
    means = data["rand_types"].sel(seed=other).mean("scope")
    return captions.drawing(
        figure,
        data.drop_vars("head_type"),  # colour is no type here
        f"Adjusted Rand index (1 the same, 0 chance) of seed {first}'s clusters with the types of seed "
        f"{other}'s heads: {found}.",
        f"Mean over scopes, by number of clusters: {_by_number(means)}.",
        "p is the share of all orders of the heads with at least that index.",
        conditions=[
            f"Clusters (K-means with the shape-based distance) are of seed {first}'s curves on "
            f"{inputs.one_label(rllc, name)}; a head of seed {other} is in that whose centre is nearest.",
            f"After each head its type: {LETTERS}.",
            captions.failures(data, "rllc"),
            captions.trust(data, "rllc"),
        ],
        details=[captions.cautions(data, "rllc")],
    )


def _sheet(data: xr.Dataset, first: int) -> style.Figure:
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
            rows.append(Row(label, panels, [] if rows else keys))
    return sheet(rows, panel=(WIDTH, 1.9), margin=1.5, sharex=True, sharey="row")[0]


def _of_scopes(one: xr.Dataset) -> dict[str, xr.Dataset]:
    """The heads of each scope."""
    return {scope: one.sel(head=one["head_scope"] == scope) for scope in one["scope"].values.tolist()}


def _typed(one: xr.Dataset) -> xr.Dataset:
    """Heads called by their label and the letter of their type: "1:3i"."""
    pairs = zip(one["head"].values.tolist(), one["head_type"].values.tolist(), strict=True)
    return one.assign_coords(head=[f"{head}{SHORT[kind]}" for head, kind in pairs])


def _finding(one: xr.Dataset, scope: str, types: xr.DataArray) -> str:
    """The indices and p of one seed and scope at as many clusters as the first seed has ``types``."""
    k, first = int(types), types["seed"].item()
    if k not in one["n_clusters"].values:
        return f"{scope} none, as {k} clusters, as seed {first}'s types, were not made"
    at = one.sel(scope=scope, n_clusters=k)
    index, own, p, least = (float(at[name]) for name in ("rand_types", "rand_own", "p", "p_least"))
    if not np.isfinite(index):
        return f"{scope} none, as its heads have one type"
    return (
        f"{scope} {index:.2f} (k = {k}, as seed {first}'s types; p = {p:.2g}, at best {least:.2g}; "
        f"with its own clusters {own:.2f})"
    )


def _by_number(values: xr.DataArray) -> str:
    pairs = zip(values["n_clusters"].values.tolist(), values.values.tolist(), strict=True)
    return ", ".join(f"k = {k} {f'{value:.2f}' if np.isfinite(value) else 'none'}" for k, value in pairs)


@style.styled
def rllc_fig23_other_seeds(
    datasets: Datasets, *, distributions: Names = None, seeds: Seeds = None
) -> Drawing:
    """Rows training seeds (default: all but the first), columns distributions, a line per head.

    distributions  default "mixture" and "code"
    """
    every = inputs.need(datasets, "rllc", "rllc")["seed"].values.tolist()
    if seeds is None and len(every) < 2:
        raise ValueError(f"rllc.nc has the training seed {every[0]} alone: train others, or name it in seeds")
    seeds = every[1:] if seeds is None else seeds
    data = inputs.over_heads(datasets, "rllc", "rllc", also=("rllc_se", "status", "verdict"), seeds=seeds)
    data = data.sel(distribution=inputs.distribution_names(data, distributions, ("mixture", "code")))
    labels, rows = inputs.distribution_labels(data), []
    rings = style.ring_keys(inputs.ring_reasons((data, "rllc")))
    for seed in data["seed"].values.tolist():
        one = data.sel(seed=seed)
        looks = style.head_styles(one["head_type"])
        panels = [
            Panel(f"seed {seed}: {style.short(label)}", of_heads(one.sel(distribution=name), "rllc", looks))
            for name, label in labels.items()
        ]
        keys = [*style.head_keys(one["head_type"], looks), *([] if rows else rings)]
        rows.append(Row("refined LLC", panels, keys, "head, type"))
    entries = data.sizes["head"] + len(rings)
    figure, _ = sheet(rows, panel=(3.1, 2.6), entries=entries, sharex=True, sharey=True)
    conditions, details = captions.of_estimates(datasets["rllc"], data, "rllc")
    findings = [_counts(data["head_type"]), _peaks(data, labels)]
    return captions.drawing(figure, data, *findings, conditions=conditions, details=details)


def _counts(kinds: xr.DataArray) -> str:
    """How many heads of each type the seeds have; nothing where types are unknown."""
    if (kinds == "unknown").any():
        return ""
    said = [
        f"{', '.join(str(count) for count in (kinds == kind).sum('head').values)} {kind}"
        for kind in ("previous-token", "induction", "current-token")
    ]
    seeds = ", ".join(map(str, kinds["seed"].values))
    return f"Heads of each type (seeds {seeds}): {'; '.join(said)}."


def _peaks(data: xr.Dataset, labels: dict[str, str]) -> str:
    """The highest head at the last step, by distribution and seed."""
    parts = []
    for name, label in labels.items():
        last = data.sel(distribution=name).isel(step=-1)
        each = [
            f"{captions.largest(cell['rllc'], cell.get('rllc_se'), count=1)} in seed {seed}"
            for seed in data["seed"].values.tolist()
            for cell in [last.sel(seed=seed)]
        ]
        parts.append(f"on {label} {', '.join(each)}")
    return f"Highest at the end: {'; '.join(parts)}."
