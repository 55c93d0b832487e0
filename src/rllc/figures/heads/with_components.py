"""Refined LLC of heads beside that of other components, such as MLPs."""

from collections.abc import Sequence

import xarray as xr

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Names, Seeds
from rllc.figures.findings import over_seeds
from rllc.figures.heads import head_findings
from rllc.figures.panels import Panel, Row, by_seed, curve, of_heads, sheet

AXIS = "refined LLC"
KEPT = ("rllc", "rllc_se", "status", "quality")


@style.styled
def rllc_with_components(
    datasets: Datasets, *, distributions: Names = None, components: Names = None, seeds: Seeds = None
) -> Drawing:
    """Refined LLC of the heads of each layer and, in the last row, of other components such as MLPs.

    distributions  default all
    components     of ``components.nc``; default all
    """
    heads = inputs.over_heads(datasets, "rllc", "rllc", also=KEPT[1:], seeds=seeds)
    heads = heads.sel(distribution=inputs.distribution_names(heads, distributions, ()))
    others = inputs.of_seeds(inputs.need(datasets, "components", "rllc"), seeds)
    others = others[[name for name in KEPT if name in others]]
    names = [str(name) for name in others["component"].values] if components is None else components
    others = others.sel(component=names)
    labels = inputs.distribution_labels(heads)
    rings = style.ring_keys(inputs.ring_reasons((heads, "rllc"), (others, "rllc")))
    looks_of = {name: style.numbered(n, color) for n, (name, color) in enumerate(_colors(names))}
    rows: list[Row] = []
    for seed, suffix, one in by_seed(heads):
        looks = style.head_styles(one["head_type"])
        for layer in inputs.layers(one):
            own = {head: looks[head] for head in inputs.heads_of_layer(one, layer)}
            panels = [
                Panel(f"{style.short(label)}{suffix}", of_heads(one.sel(distribution=name), "rllc", own))
                for name, label in labels.items()
            ]
            keys = [*style.head_keys(one["head_type"], own), *([] if rows else rings)]
            rows.append(Row(f"layer {layer}\n{AXIS}", panels, keys, "head, type"))
        whole = others.sel(seed=seed)
        panels = [
            Panel(
                f"{style.short(label)}{suffix}",
                [curve(_cell(whole, name, component), "rllc", look) for component, look in looks_of.items()],
            )
            for name, label in labels.items()
        ]
        keys = [style.key(component, **look) for component, look in looks_of.items()]
        rows.append(Row(f"components\n{AXIS}", panels, keys, "component"))
    entries = max(len(names), heads.sizes["head"] // len(inputs.layers(heads)) + 2 * len(rings))
    figure, _ = sheet(rows, panel=(2.3, 1.75), margin=1.6, entries=entries, sharex=True, sharey="row")
    drawn = heads.merge(
        others.rename({name: f"component_{name}" for name in others.data_vars}),
        join="left",
        compat="override",
    )
    return Drawing(
        figure,
        drawn,
        f"rLLC of heads and of other components over training, on {head_findings.labels(heads)}.",
        [*_highest(others, labels), *head_findings.of_layers(heads, next(iter(labels)))],
        [
            *conditions.setting(datasets["rllc"]),
            *conditions.of_several((heads, "rllc"), (others, "rllc")),
            *conditions.seeds(heads),
        ],
    )


def _colors(names: Sequence[str]) -> list[tuple[str, object]]:
    return list(zip(names, style.shades(len(names)), strict=True))


def _cell(others: xr.Dataset, distribution: str, component: str) -> xr.Dataset:
    """Return the curve of one component; nothing but gaps where it is not sampled on this text."""
    if distribution not in others["distribution"].values:
        others = others.reindex(distribution=[distribution])
    return others.sel(distribution=distribution, component=component)


def _highest(others: xr.Dataset, labels: dict[str, str]) -> list[Finding]:
    """Return the component that is highest at the end on each of the first texts (mean of the seeds)."""
    last, found = head_findings.at_end(others, "rllc"), []
    known = [name for name in labels if name in last["distribution"].values]
    for name in known[: head_findings.LISTED]:
        values = last.sel(distribution=name)
        mean = values["rllc"].mean("seed").dropna("component")
        if not mean.size:
            continue
        component = str(mean["component"].values[int(mean.argmax("component"))])
        one = values.sel(component=component)
        label = f"highest rLLC of a component on {labels[name]} ({component}) {head_findings.at_step(last)}"
        found += over_seeds(label, one["rllc"], one.get("rllc_se"))
    return found
