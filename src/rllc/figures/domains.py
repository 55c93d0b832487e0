"""Whole-model LLC on several distributions of text (arXiv 2410.02984, Fig. 12)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
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
    """Data-refined LLC of the whole model: a panel per family of distributions, a row per training seed.

    distribution  what is grey in every panel: the training text
    families      distribution -> what its panel is called; those that are not named share a panel
    note          a sentence for the caption, as where the texts are from
    """
    whole = inputs.of_seeds(inputs.need(datasets, "llc", "llc"), seeds)
    reference = inputs.one_distribution(whole, distribution)
    kept = [name for name in ("llc", "llc_se", "status", "verdict") if name in whole]
    data = whole[kept]
    labels = inputs.distribution_labels(data)
    panels: dict[str, list[str]] = {}
    for name in labels:
        if name != reference:
            panels.setdefault((families or {}).get(name, OTHERS), []).append(name)
    order = [*dict.fromkeys((families or {}).values()), OTHERS]
    panels = {title: panels[title] for title in order if title in panels}
    rings = style.ring_keys(inputs.ring_reasons((data, "llc")))
    rows = []
    for _, suffix, one in by_seed(data):
        grey = curve(one.sel(distribution=reference), "llc", REFERENCE)
        made = []
        for title, names in panels.items():
            looks = style.distribution_styles(names)
            lines = [curve(one.sel(distribution=name), "llc", looks[name]) for name in names]
            made.append(Panel(f"{title}{suffix}", [grey, *lines]))
        rows.append(Row("LLC of the whole model", made, rings if not rows else ()))
    figure, axes = sheet(rows, panel=(3.4, 2.9), margin=1.4 if rings else 0.2, sharex=True, sharey=True)
    for ax, names in zip(axes[0], panels.values(), strict=True):
        keys = [style.key(style.short(labels[reference]), **REFERENCE)]
        looks = style.distribution_styles(names)
        keys += [style.key(style.short(labels[name]), **looks[name]) for name in names]
        ax.legend(handles=keys, loc="upper left", fontsize=6.5)
    conditions, details = captions.of_estimates(whole, data, "llc")
    return captions.drawing(
        figure, data, *_alike(datasets.get("domains"), labels, data["seed"].values.tolist()),
        *_highest(data, labels), conditions=[note, *conditions], details=details,
    )  # fmt: skip


def _alike(domains: xr.Dataset | None, labels: Mapping[str, str], seeds: list[int]) -> list[str]:
    """The correlations with the reference, the smallest first."""
    if domains is None:
        return []
    sentences = []
    for seed in seeds:
        one = domains.sel(seed=seed)
        values, errors = one["correlation"], one["correlation_se"]
        parts = []
        for n in np.argsort(values.values):
            name = str(values["distribution"].values[n])
            if name != domains.attrs["reference"] and np.isfinite(values.values[n]):
                parts.append(f"{labels[name]} {values.values[n]:.2f} ± {errors.values[n]:.2f}")
        sentences.append(
            f"Correlation over checkpoints (from step 50 on) with the LLC on "
            f"{labels[domains.attrs['reference']]}, seed {seed}: {', '.join(parts)}."
        )
    return sentences


def _highest(data: xr.Dataset, labels: Mapping[str, str]) -> list[str]:
    """The distributions with the largest and the smallest LLC at the last step."""
    step, sentences = style.step_text(float(data["step"][-1])), []
    for _, suffix, last in by_seed(data.isel(step=-1)):
        known = last["llc"].dropna("distribution")
        if not known.size:
            continue
        ends = [
            f"{float(known[n]):.1f} on {labels[str(known['distribution'].values[n])]}"
            for n in (int(known.values.argmin()), int(known.values.argmax()))
        ]
        sentences.append(f"At step {step}{suffix} it is from {ends[0]} to {ends[1]}.")
    return sentences
