"""Whole-model LLC on several distributions of text (arXiv 2410.02984, Fig. 12)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.curves import PEAK_FROM
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seeds
from rllc.figures.findings import over_seeds
from rllc.figures.heads.behind import Stages
from rllc.figures.panels import Panel, Row, by_seed, curve, sheet

REFERENCE = {"color": "#8a8a8a", "linestyle": "-", "marker": "o", "linewidth": 2.6, "zorder": 1.5}
OTHERS = "other distributions"


@style.styled
def rllc_fig12_drllc_datasets(
    datasets: Datasets,
    *,
    distribution: Name = None,
    families: Mapping[str, str] | None = None,
    note: str = "",
    seeds: Seeds = None,
) -> Drawing:
    """Data-refined LLC of the whole model: a panel per group of distributions, a row per training seed.

    distribution  grey in every panel: the training text
    families      distribution -> title of its panel; all others share a panel
    note          a sentence for the caption, as where the texts are from
    """
    whole = inputs.of_seeds(inputs.need(datasets, "llc", "llc"), seeds)
    reference = inputs.one_distribution(whole, distribution)
    kept = [name for name in ("llc", "llc_se", "status", "quality") if name in whole]
    data = whole[kept]
    labels = inputs.distribution_labels(data)
    panels: dict[str, list[str]] = {}
    for name in labels:
        if name != reference:
            panels.setdefault((families or {}).get(name, OTHERS), []).append(name)
    order = [*dict.fromkeys((families or {}).values()), OTHERS]
    panels = {title: panels[title] for title in order if title in panels}
    looks = style.distribution_styles([name for names in panels.values() for name in names])
    rings = style.ring_keys(inputs.ring_reasons((data, "llc")))
    rows, stages = [], Stages(datasets, data["seed"])
    for seed, suffix, one in by_seed(data):
        grey = curve(one.sel(distribution=reference), "llc", REFERENCE)
        made = []
        for title, names in panels.items():
            lines = [curve(one.sel(distribution=name), "llc", looks[name]) for name in names]
            made.append(Panel(f"{title}{suffix}", [grey, *lines]))
        rows.append(Row("LLC of the whole model", stages.behind(seed, made), rings if not rows else ()))
    figure, axes = sheet(rows, panel=(3.4, 2.9), margin=1.4 if rings else 0.2, sharex=True, sharey=True)
    for ax, names in zip(axes[0], panels.values(), strict=True):
        keys = [style.key(style.short(labels[reference]), **REFERENCE)]
        keys += [style.key(style.short(labels[name]), **looks[name]) for name in names]
        ax.legend(handles=keys, loc="upper left", fontsize=6.5)
    alike = _alike(datasets.get("domains"), labels, data["seed"])
    return Drawing(
        figure,
        data,
        "LLC of the whole model on several distributions of text over training.",
        [*_ends(data, labels), *alike],
        [
            note,
            *stages.said,
            *([f"Correlations: over checkpoints from step {PEAK_FROM} on."] if alike else []),
            *conditions.of_estimates(whole, data, "llc"),
        ],
    )


def _ends(data: xr.Dataset, labels: Mapping[str, str]) -> list[Finding]:
    """Return the highest and the lowest LLC at the last step, by the mean of the seeds."""
    last = data.isel(step=-1)
    error = last.get("llc_se")
    return [
        found
        for end, name in _extremes(last["llc"].mean("seed"))
        for found in over_seeds(
            f"{end} LLC at step {int(last['step']):,} ({labels[name]})",
            last["llc"].sel(distribution=name),
            None if error is None else error.sel(distribution=name),
        )
    ]


def _alike(domains: xr.Dataset | None, labels: Mapping[str, str], seeds: xr.DataArray) -> list[Finding]:
    """Return the highest and lowest correlation with the LLC on the reference, by the mean of the seeds."""
    if domains is None:
        return []
    reference = domains.attrs["reference"]
    shown = [name for name in labels if name != reference and name in domains["distribution"]]
    values, error = (
        domains[name].sel(seed=seeds, distribution=shown) for name in ("correlation", "correlation_se")
    )
    of = f"correlation with the LLC on {labels[reference]}"
    return [
        found
        for end, name in _extremes(values.mean("seed"))
        for found in over_seeds(
            f"{end} {of} ({labels[name]})",
            values.sel(distribution=name),
            error.sel(distribution=name),
        )
    ]


def _extremes(values: xr.DataArray) -> list[tuple[str, str]]:
    """ "highest" and "lowest", and the distributions that have them; nothing of fewer than two."""
    known = values.dropna("distribution")
    if known.size < 2:
        return []
    names = known["distribution"].values[np.argsort(-known.values, kind="stable")].tolist()
    return [("highest", names[0]), ("lowest", names[-1])]
