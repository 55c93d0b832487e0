"""What estimates depend on beside the setting: data, minibatches, noise (arXiv 2402.02364, D.3 to D.5)."""

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import distribution_labels, distribution_names, need, of_seeds
from rllc.figures.sampler.calibration import shades

BARS = "Error bars are one Monte Carlo standard error given the minibatches."
FRESH_COLOR = "#BB5566"
SHARED_COLOR = "#004488"


def _taken(
    datasets: Mapping[str, xr.Dataset], name: str, distribution: str | None, seed: int | None
) -> tuple[xr.Dataset, str]:
    """One variable and its error of one seed and distribution, and what the distribution is called."""
    dependence = of_seeds(need(datasets, "dependence", name, f"{name}_se"), None if seed is None else [seed])
    chosen = distribution_names(dependence, None if distribution is None else [distribution], ("mixture",))[0]
    taken = dependence[[name, f"{name}_se"]].sel(distribution=[chosen]).isel(seed=[0])
    return taken.assign_attrs(dependence.attrs), distribution_labels(taken)[chosen]


def _setting(taken: xr.Dataset) -> str:
    values = json.loads(taken.attrs.get("dependence", "{}"))
    told = [
        f"{kind}: n_beta {each['n_beta']:g}, localization {each['localization']:g}, step size "
        f"{each['step_size']:g}, minibatches of {each['batch_size']} where not said otherwise"
        for kind, each in values.get("settings", {}).items()
    ]
    chains = f"{values['chains']} chains of {values['draws']} draws" if "chains" in values else ""
    return f"Settings of {'; of '.join(told)}; {chains}." if told else ""


@style.styled
def stage_figD3(  # noqa: N802
    datasets: Mapping[str, xr.Dataset], *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """LLC against the number of contexts that minibatches are drawn from, a line per checkpoint.

    datasets      ``dependence`` with ``llc_by_dataset_size``
    distribution  default "mixture", or the dataset's first
    seed          default the first
    """
    name = "llc_by_dataset_size"
    taken, label = _taken(datasets, name, distribution, seed)
    one = taken.isel(seed=0, distribution=0)
    parts, steps = one["component"].values.tolist(), one["step"].values.tolist()
    figure, axes = style.grid(1, len(parts), panel=(2.6, 2.2), margin=1.2, sharex=True)
    sizes = one["dataset_size"].values
    for ax, part in zip(axes[0], parts, strict=True):
        for step, color in zip(steps, shades(len(steps)), strict=True):
            each = one.sel(component=part, step=step)
            ax.errorbar(sizes, each[name], each[f"{name}_se"], color=color, marker="o", elinewidth=0.9)
        ax.set_xscale("log")
        ax.set_xticks(sizes, [f"{size:g}" for size in sizes])
        ax.minorticks_off()
        ax.axhline(0.0, color="#999999", linewidth=0.7, zorder=1)
        ax.set_title(f"{part} on {style.short(label, 18)}", loc="left")
        ax.set_xlabel("contexts drawn from")
    axes[0, 0].set_ylabel("LLC")
    keys = [
        style.key(style.step_text(s), color=c, marker="o")
        for s, c in zip(steps, shades(len(steps)), strict=True)
    ]
    style.beside(axes[0, -1], keys, title="training step")
    change = np.abs(one[name] / one[name].isel(dataset_size=-1) - 1)
    said = [
        f"{size}: {float(change.sel(dataset_size=size).median()):.0%} (largest "
        f"{float(change.sel(dataset_size=size).max()):.0%})"
        for size in sizes[:-1].tolist()
    ]
    caption = captions.joined(
        f"LLC against the number of distinct contexts of {label} that minibatches are drawn from, nested "
        "sets.",
        f"Median change against {sizes[-1]} contexts, over components and steps, for {', '.join(said)}."
        if said
        else "",
        BARS,
        _setting(taken),
        captions.seeds(taken),
    )
    return Drawing(figure, taken, caption)


@style.styled
def stage_figD4(  # noqa: N802
    datasets: Mapping[str, xr.Dataset], *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """LLC against training step by minibatch size: losses on the same minibatch (top), on a new one (bottom).

    datasets      ``dependence`` with ``llc_by_batch_size``
    distribution  default "mixture", or the dataset's first
    seed          default the first
    """
    name = "llc_by_batch_size"
    taken, label = _taken(datasets, name, distribution, seed)
    one = taken.isel(seed=0, distribution=0)
    parts, sizes = one["component"].values.tolist(), one["batch_size"].values.tolist()
    rows = one["evaluation"].values.tolist()
    figure, axes = style.grid(len(rows), len(parts), panel=(2.6, 1.9), margin=1.2, sharex=True, sharey="col")
    for line, evaluation in zip(axes, rows, strict=True):
        for ax, part in zip(line, parts, strict=True):
            for i, (size, color) in enumerate(zip(sizes, shades(len(sizes)), strict=True)):
                each = one.sel(component=part, evaluation=evaluation, batch_size=size)
                marker = style.MARKERS[i % len(style.MARKERS)]
                style.curve(ax, each[name], each[f"{name}_se"], color=color, marker=marker)
            ax.axhline(0.0, color="#999999", linewidth=0.7, zorder=1)
            ax.set_title(
                f"{part}: loss on {'the same' if evaluation == 'same' else 'a new'} minibatch", loc="left"
            )
            style.step_axis(ax, one["step"].values)
        line[0].set_ylabel("LLC")
    keys = [
        style.key(str(size), color=color, marker=style.MARKERS[i % len(style.MARKERS)])
        for i, (size, color) in enumerate(zip(sizes, shades(len(sizes)), strict=True))
    ]
    style.beside(axes[0, -1], keys, title="batch size")
    spread = (one[name].max("batch_size") - one[name].min("batch_size")) / np.abs(
        one[name].mean("batch_size")
    )
    apart = np.abs(one[name].sel(evaluation="new") / one[name].sel(evaluation="same") - 1)
    caption = captions.joined(
        f"LLC on {label} against training step by minibatch size; the loss of a draw is taken on the "
        "minibatch "
        "whose gradient moves the chain (top) or on another of the same size (bottom).",
        f"Between the sizes it spreads by {float(spread.median()):.0%} of its value in the median (largest "
        f"{float(spread.max()):.0%}); new against same minibatches change it by {float(apart.median()):.0%} "
        "in the "
        f"median (largest {float(apart.max()):.0%}).",
        captions.BANDS,
        _setting(taken),
        captions.seeds(taken),
    )
    return Drawing(figure, taken, caption)


@style.styled
def stage_figD5(  # noqa: N802
    datasets: Mapping[str, xr.Dataset], *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """LLC against training step with the same noise and minibatches at every checkpoint, and with fresh ones.

    datasets      ``dependence`` with ``llc_by_noise_seed``
    distribution  default "mixture", or the dataset's first
    seed          default the first
    """
    name = "llc_by_noise_seed"
    taken, label = _taken(datasets, name, distribution, seed)
    one = taken.isel(seed=0, distribution=0)
    parts = one["component"].values.tolist()
    looks = {
        "shared": ("same at every\ncheckpoint", {"color": SHARED_COLOR, "linestyle": "-"}),
        "fresh": ("anew at each", {"color": FRESH_COLOR, "linestyle": "--"}),
    }
    figure, axes = style.grid(1, len(parts), panel=(2.6, 2.2), margin=1.5, sharex=True)
    for ax, part in zip(axes[0], parts, strict=True):
        for seeding, (_, look) in looks.items():
            for i, number in enumerate(one["noise_seed"].values.tolist()):
                each = one.sel(component=part, seeding=seeding, noise_seed=number)
                style.curve(ax, each[name], each[f"{name}_se"], marker=style.MARKERS[i % 8], **look)
        ax.axhline(0.0, color="#999999", linewidth=0.7, zorder=1)
        ax.set_title(f"{part} on {style.short(label, 18)}", loc="left")
        style.step_axis(ax, one["step"].values)
    axes[0, 0].set_ylabel("LLC")
    keys = [style.key(text, **look) for text, look in looks.values()]
    keys += [
        style.key(f"seed {number}", color="#666666", linestyle="none", marker=style.MARKERS[i % 8])
        for i, number in enumerate(one["noise_seed"].values.tolist())
    ]
    style.beside(axes[0, -1], keys, title="noise and minibatches")
    caption = captions.joined(
        f"LLC on {label} against training step, with the noise and minibatches of a seed at every checkpoint "
        "(solid) or drawn anew at each (dashed); a marker per seed.",
        _roughness(one[name]),
        captions.BANDS,
        _setting(taken),
        captions.seeds(taken),
    )
    return Drawing(figure, taken, caption)


def _roughness(values: xr.DataArray) -> str:
    """How far seeds disagree about neighbouring checkpoints, shared and fresh; nothing with one seed."""
    if values.sizes["noise_seed"] < 2 or values.sizes["step"] < 2:
        return ""
    jumps = values.diff("step")
    noise = jumps.std("noise_seed", ddof=1).mean("step")
    told = [
        f"{part}: {float(noise.sel(component=part, seeding='shared')):.2f} and "
        f"{float(noise.sel(component=part, seeding='fresh')):.2f}"
        for part in values["component"].values.tolist()
    ]
    return (
        "The change between neighbouring checkpoints differs between seeds by (standard deviation, shared "
        "and "
        f"fresh) {'; '.join(told)}."
    )
