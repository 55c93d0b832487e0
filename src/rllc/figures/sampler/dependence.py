"""What estimates depend on beside the setting: data, minibatches, noise (arXiv 2402.02364, A.1, D.3 to "
"D.5)."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing
from rllc.figures.inputs import need, of_seeds, one_distribution, one_label
from rllc.figures.panels import Curve, Panel, Row, sheet
from rllc.figures.sampler.traces import RUNNING, running

BARS = "Error bars: one Monte Carlo standard error given the minibatches."
SEEDINGS = {
    "shared": ("same at every\ncheckpoint", {"color": "#004488", "linestyle": "-"}),
    "fresh": ("anew at each", {"color": "#BB5566", "linestyle": "--"}),
}


def _measured(
    datasets: Datasets, *names: str, distribution: str | None, seed: int | None
) -> tuple[xr.Dataset, xr.Dataset, str]:
    """Variables of one seed and distribution: with these dims, without them, and the distribution's label."""
    dependence = of_seeds(need(datasets, "dependence", *names), None if seed is None else [seed])
    chosen = one_distribution(dependence, distribution)
    data = dependence[[*names]].sel(distribution=[chosen]).isel(seed=[0]).assign_attrs(dependence.attrs)
    return data, data.isel(seed=0, distribution=0), one_label(data, chosen)


def _drawing(
    figure: Figure, data: xr.Dataset, *findings: str, error: str, drawn: xr.Dataset | None = None
) -> Drawing:
    values = json.loads(data.attrs.get("dependence", "{}"))
    settings = [
        f"{kind}: n_beta {each['n_beta']:g}, localization {each['localization']:g}, step size "
        f"{each['step_size']:g}, minibatches of {each['batch_size']} where not said otherwise"
        for kind, each in values.get("settings", {}).items()
    ]
    chains = f"; {values['chains']} chains of {values['draws']} draws" if "chains" in values else ""
    conditions = [
        error,
        f"Settings of {'; of '.join(settings)}{chains}." if settings else "",
        captions.seeds(data),
    ]
    words = captions.compose(*findings, conditions=conditions, details=captions.labels(data))
    return Drawing(figure, data if drawn is None else drawn, *words)


def _step_keys(steps: Sequence[int], **look: str) -> list:
    return [
        style.key(style.step_text(step), color=color, **look)
        for step, color in zip(steps, style.shades(len(steps)), strict=True)
    ]


@style.styled
def stage_figA1(  # noqa: N802
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """LLC traces: the running estimate against draws, a line per checkpoint, a panel per component.

    datasets      ``dependence`` with ``paired_loss``
    """
    data, one, label = _measured(datasets, "paired_loss", distribution=distribution, seed=seed)
    settings = json.loads(data.attrs["dependence"])["settings"]
    parts, steps = one["component"].values.tolist(), one["step"].values.tolist()
    n_beta = xr.DataArray(
        [settings["full" if part == "full" else "heads"]["n_beta"] for part in parts],
        dims="component", coords={"component": data["component"]},
    )  # fmt: skip
    traces = running(data["paired_loss"], n_beta)
    figure, axes = style.grid(1, len(parts), panel=(2.6, 2.3), margin=1.2, sharex=True)
    for ax, part in zip(axes[0], parts, strict=True):
        for step, color in zip(steps, style.shades(len(steps)), strict=True):
            each = traces.sel(component=part, step=step).isel(seed=0, distribution=0)
            low, high = each.min("chain"), each.max("chain")
            ax.fill_between(each["draw"], low, high, color=color, alpha=0.18, linewidth=0)
            ax.plot(each["draw"], each.mean("chain"), color=color)
        style.zero(ax)
        ax.set_title(f"{part} on {style.short(label, 18)}", loc="left")
        ax.set_xlabel("draw")
    axes[0, 0].set_ylabel("running LLC estimate")
    style.beside(axes[0, -1], _step_keys(steps), title="training step")
    last = traces.isel(draw=-1).mean("chain").isel(seed=0, distribution=0)
    ends = [
        f"{part}: {float(values[0]):.2f} at step {steps[0]}, {float(values[-1]):.2f} at step {steps[-1]}"
        for part in parts
        for values in [last.sel(component=part)]
    ]
    finding = f"After the last draw: {'; '.join(ends)}."
    spread = "Lines are means over chains, bands go from the lowest to the highest chain."
    return _drawing(figure, data, finding, RUNNING, error=spread, drawn=traces.to_dataset())


@style.styled
def stage_figD3(  # noqa: N802
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """LLC against the number of contexts that minibatches are drawn from, a line per checkpoint.

    datasets      ``dependence`` with ``llc_by_dataset_size``
    """
    name = "llc_by_dataset_size"
    data, one, label = _measured(datasets, name, f"{name}_se", distribution=distribution, seed=seed)
    parts, steps = one["component"].values.tolist(), one["step"].values.tolist()
    figure, axes = style.grid(1, len(parts), panel=(2.6, 2.2), margin=1.2, sharex=True)
    sizes = one["dataset_size"].values
    for ax, part in zip(axes[0], parts, strict=True):
        for step, color in zip(steps, style.shades(len(steps)), strict=True):
            each = one.sel(component=part, step=step)
            ax.errorbar(sizes, each[name], each[f"{name}_se"], color=color, marker="o", elinewidth=0.9)
        ax.set_xscale("log")
        ax.set_xticks(sizes, [f"{size:g}" for size in sizes])
        ax.minorticks_off()
        style.zero(ax)
        ax.set_title(f"{part} on {style.short(label, 18)}", loc="left")
        ax.set_xlabel("contexts drawn from")
    axes[0, 0].set_ylabel("LLC")
    style.beside(axes[0, -1], _step_keys(steps, marker="o"), title="training step")
    change = np.abs(one[name] / one[name].isel(dataset_size=-1) - 1)
    changes = [
        f"{size}: {float(of_size.median()):.0%} (largest {float(of_size.max()):.0%})"
        for size in sizes[:-1].tolist()
        for of_size in [change.sel(dataset_size=size)]
    ]
    return _drawing(
        figure,
        data,
        captions.when(changes, f"Median change against {sizes[-1]} contexts, for {', '.join(changes)}."),
        f"LLC over components and steps by the number of distinct contexts of {label}, nested sets.",
        error=BARS,
    )


@style.styled
def stage_figD4(  # noqa: N802
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """LLC against training step by minibatch size: losses on the same minibatch (top), on a new one (bottom).

    datasets      ``dependence`` with ``llc_by_batch_size``
    """
    name = "llc_by_batch_size"
    data, one, label = _measured(datasets, name, f"{name}_se", distribution=distribution, seed=seed)
    sizes = one["batch_size"].values.tolist()
    looks = {
        size: {"color": color, "marker": style.MARKERS[i % len(style.MARKERS)]}
        for i, (size, color) in enumerate(zip(sizes, style.shades(len(sizes)), strict=True))
    }
    rows = []
    for evaluation in one["evaluation"].values.tolist():
        panels = []
        for part in one["component"].values.tolist():
            cell = one.sel(component=part, evaluation=evaluation)
            curves = [_curve(cell.sel(batch_size=size), name, look) for size, look in looks.items()]
            which = "the same" if evaluation == "same" else "a new"
            panels.append(Panel(f"{part}: loss on {which} minibatch", curves, over=style.zero))
        keys = [] if rows else [style.key(str(size), **look) for size, look in looks.items()]
        rows.append(Row("LLC", panels, keys, "batch size"))
    figure, _ = sheet(rows, panel=(2.6, 1.9), margin=1.2, sharex=True, sharey="col")
    values = one[name]
    spread = (values.max("batch_size") - values.min("batch_size")) / np.abs(values.mean("batch_size"))
    apart = np.abs(values.sel(evaluation="new") / values.sel(evaluation="same") - 1)
    return _drawing(
        figure,
        data,
        f"Between minibatch sizes the LLC on {label} spreads by {float(spread.median()):.0%} of its value "
        f"in the median (largest {float(spread.max()):.0%}); new against same minibatches change it by "
        f"{float(apart.median()):.0%} in the median (largest {float(apart.max()):.0%}).",
        "The loss of a draw is taken on the minibatch whose gradient moves the chain (top) or on another of "
        "the same size (bottom).",
        error=captions.BANDS,
    )


@style.styled
def stage_figD5(  # noqa: N802
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None
) -> Drawing:
    """LLC against training step with the same noise and minibatches at every checkpoint, and with fresh ones.

    datasets      ``dependence`` with ``llc_by_noise_seed``
    """
    name = "llc_by_noise_seed"
    data, one, label = _measured(datasets, name, f"{name}_se", distribution=distribution, seed=seed)
    markers = {number: style.MARKERS[i % 8] for i, number in enumerate(one["noise_seed"].values.tolist())}
    panels = [
        Panel(
            f"{part} on {style.short(label, 18)}",
            [
                _curve(
                    one.sel(component=part, seeding=seeding, noise_seed=number),
                    name,
                    {"marker": marker} | look,
                )
                for seeding, (_, look) in SEEDINGS.items()
                for number, marker in markers.items()
            ],
            over=style.zero,
        )
        for part in one["component"].values.tolist()
    ]
    keys = [
        *(style.key(text, **look) for text, look in SEEDINGS.values()),
        *(style.key(f"seed {n}", color="#666666", linestyle="none", marker=m) for n, m in markers.items()),
    ]
    row = Row("LLC", panels, keys, "noise and minibatches")
    figure, _ = sheet([row], panel=(2.6, 2.2), margin=1.5, sharex=True)
    return _drawing(
        figure,
        data,
        _roughness(one[name]),
        f"LLC on {label} with the noise and minibatches of a seed at every checkpoint (solid) or drawn anew "
        "at each (dashed); a marker per seed.",
        error=captions.BANDS,
    )


def _curve(one: xr.Dataset, name: str, look: Mapping) -> Curve:
    return Curve(one[name], look, one[f"{name}_se"])


def _roughness(values: xr.DataArray) -> str:
    """How far seeds disagree about neighbouring checkpoints, shared and fresh; nothing with one seed."""
    if values.sizes["noise_seed"] < 2 or values.sizes["step"] < 2:
        return ""
    noise = values.diff("step").std("noise_seed", ddof=1).mean("step")
    parts = [
        f"{part}: {float(noise.sel(component=part, seeding='shared')):.2f} and "
        f"{float(noise.sel(component=part, seeding='fresh')):.2f}"
        for part in values["component"].values.tolist()
    ]
    return (
        "The change between neighbouring checkpoints differs between seeds by (standard deviation, shared "
        f"and fresh) {'; '.join(parts)}."
    )
