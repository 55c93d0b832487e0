"""What estimates depend on beside the setting: data, minibatches, noise.

After arXiv 2402.02364, Figs. A.1 and D.3 to D.5 (there of a regression transformer), of whatever experiment
has dependence.nc, heads and whole models alike.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import cycle, product

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing
from rllc.figures.inputs import need, of_seeds, one_distribution, one_label
from rllc.figures.panels import Panel, Row, all_of, curve, sheet, ticks_at
from rllc.figures.sampler.traces import RUNNING, running

SEEDINGS = {
    "shared": ("same at every\ncheckpoint", {"color": "#004488", "linestyle": "-"}),
    "fresh": ("anew at each", {"color": "#BB5566", "linestyle": "--"}),
}
# variable with traces -> the loss that they are of
LOSSES = {
    "paired_loss": "all predictions",
    "paired_loss_likelihood": "one prediction of each context",
}


def _measured(
    datasets: Datasets, distribution: str | None, seed: int | None, *names: str
) -> tuple[xr.Dataset, xr.Dataset, str]:
    """Variables of one seed and distribution: with these dims, without them, and the distribution's label."""
    dependence = of_seeds(need(datasets, "dependence", *names), None if seed is None else [seed])
    chosen = one_distribution(dependence, distribution)
    data = dependence[[*names]].sel(distribution=[chosen]).isel(seed=[0]).assign_attrs(dependence.attrs)
    return data, data.isel(seed=0, distribution=0), one_label(data, chosen)


def _settings(data: xr.Dataset) -> str:
    values = json.loads(data.attrs.get("dependence", "{}"))
    settings = [
        f"{kind}: n_beta {each['n_beta']:g}, localization {each['localization']:g}, step size "
        f"{each['step_size']:g}, minibatches of {each['batch_size']} where not said otherwise"
        for kind, each in values.get("settings", {}).items()
    ]
    chains = f"; {values['chains']} chains of {values['draws']} draws" if "chains" in values else ""
    return f"Settings of {'; of '.join(settings)}{chains}." if settings else ""


def _looks(values: xr.DataArray, **more: str) -> dict[int, dict]:
    """Line properties of ascending values, from dark to light."""
    shades = zip(values.values.tolist(), style.shades(values.size), strict=True)
    return {value: {"color": color, **more} for value, color in shades}


def _figure(
    draw: Mapping[str, Callable[[Axes], object]],
    looks: dict[int, dict],
    *,
    x: str,
    y: str,
    height: float,
    title: str,
) -> Figure:
    """A panel per title, with what draws it on axes and a line at 0; ``looks`` of the steps."""
    panels = [Panel(name, over=all_of(each, style.zero), x=x) for name, each in draw.items()]
    keys = [style.key(style.step_text(step), **look) for step, look in looks.items()]
    row = Row(y, panels, keys, "training step")
    return sheet([row], panel=(2.6, height), margin=1.2, title=title, sharex=True)[0]


@style.styled
def calibration_running_estimates(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None, title: str = ""
) -> Drawing:
    """LLC traces: the running estimate against draws, a line per checkpoint, a panel per component.

    Where the dependence has a likelihood, a second panel has the loss of one prediction of each context.
    """
    losses = [name for name in LOSSES if name in datasets["dependence"]]
    data, one, label = _measured(datasets, distribution, seed, *losses)
    settings = json.loads(data.attrs["dependence"])["settings"]
    parts, looks = one["component"].values.tolist(), _looks(one["step"])
    n_beta = xr.DataArray(
        [settings["full" if part == "full" else "heads"]["n_beta"] for part in parts],
        dims="component", coords={"component": data["component"]},
    )  # fmt: skip
    index = xr.DataArray([LOSSES[name] for name in losses], dims="loss", name="loss")
    traces = xr.concat([running(data[name], n_beta) for name in losses], index)
    shown = traces.isel(seed=0, distribution=0)

    def draw(ax: Axes, at: dict[str, str]) -> None:
        for step, look in looks.items():
            each = shown.sel(at | {"step": step})
            low, high = each.min("chain"), each.max("chain")
            ax.fill_between(each["draw"], low, high, alpha=0.18, linewidth=0, **look)
            ax.plot(each["draw"], each.mean("chain"), **look)

    last, steps = shown.isel(draw=-1).mean("chain"), list(looks)
    panels, ends = {}, []
    for part, loss in product(parts, index.values.tolist()):
        at = {"component": part, "loss": loss}
        of, below = (f", {loss}", f"\n{loss}") if len(losses) > 1 else ("", "")
        panels[f"{part} on {style.short(label, 18)}{below}"] = partial(draw, at=at)
        first, final = (float(last.sel(at | {"step": step})) for step in (steps[0], steps[-1]))
        ends.append(f"{part}{of}: {first:.2f} at step {steps[0]}, {final:.2f} at step {steps[-1]}")
    spread = "Lines are means over chains, bands go from the lowest to the highest chain."
    return captions.drawing(
        _figure(panels, looks, x="draw", y="running LLC estimate", height=2.3, title=title),
        traces.to_dataset(),
        f"After the last draw: {'; '.join(ends)}.",
        RUNNING,
        conditions=[spread, _settings(data)],
        title=title,
    )


@style.styled
def calibration_dataset_size(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None, title: str = ""
) -> Drawing:
    """LLC against the number of contexts that minibatches are drawn from, a line per checkpoint."""
    name = "llc_by_dataset_size"
    data, one, label = _measured(datasets, distribution, seed, name, f"{name}_se")
    sizes, looks = one["dataset_size"].values, _looks(one["step"], marker="o")

    def draw(ax: Axes, part: str) -> None:
        for step, look in looks.items():
            each = one.sel(component=part, step=step)
            ax.errorbar(sizes, each[name], each[f"{name}_se"], elinewidth=0.9, **look)
        ticks_at(ax, sizes)

    change = np.abs(one[name] / one[name].isel(dataset_size=-1) - 1)
    changes = [
        f"{size}: {float(of_size.median()):.0%} (largest {float(of_size.max()):.0%})"
        for size in sizes[:-1].tolist()
        for of_size in [change.sel(dataset_size=size)]
    ]
    panels = {
        f"{part} on {style.short(label, 18)}": partial(draw, part=part)
        for part in one["component"].values.tolist()
    }
    return captions.drawing(
        _figure(panels, looks, x="contexts drawn from", y="LLC", height=2.2, title=title),
        data,
        captions.when(changes, f"Median change against {sizes[-1]} contexts, for {', '.join(changes)}."),
        f"LLC over components and steps by the number of distinct contexts of {label}, nested sets.",
        conditions=["Error bars: one Monte Carlo standard error given the minibatches.", _settings(data)],
        title=title,
    )


@style.styled
def calibration_batch_size(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None, title: str = ""
) -> Drawing:
    """LLC against training step by minibatch size: losses on the same minibatch, on a new one below."""
    name = "llc_by_batch_size"
    data, one, label = _measured(datasets, distribution, seed, name, f"{name}_se")
    shades = zip(_looks(one["batch_size"]).items(), cycle(style.MARKERS), strict=False)
    looks = {size: look | {"marker": marker} for (size, look), marker in shades}
    rows = []
    for evaluation, which in (("same", "the same"), ("new", "a new")):
        panels = []
        for part in one["component"].values.tolist():
            cell = one.sel(component=part, evaluation=evaluation)
            curves = [curve(cell.sel(batch_size=size), name, look) for size, look in looks.items()]
            panels.append(Panel(f"{part}: loss on {which} minibatch", curves, over=style.zero))
        keys = [] if rows else [style.key(str(size), **look) for size, look in looks.items()]
        rows.append(Row("LLC", panels, keys, "batch size"))
    values = one[name]
    spread = (values.max("batch_size") - values.min("batch_size")) / np.abs(values.mean("batch_size"))
    apart = np.abs(values.sel(evaluation="new") / values.sel(evaluation="same") - 1)
    return captions.drawing(
        sheet(rows, panel=(2.6, 1.9), margin=1.2, title=title, sharex=True, sharey="col")[0],
        data,
        f"Between minibatch sizes the LLC on {label} spreads by {float(spread.median()):.0%} of its value "
        f"in the median (largest {float(spread.max()):.0%}); new against same minibatches change it by "
        f"{float(apart.median()):.0%} in the median (largest {float(apart.max()):.0%}).",
        "The loss of a draw is taken on the minibatch whose gradient moves the chain (top) or on another of "
        "the same size (bottom).",
        conditions=[captions.BANDS, _settings(data)],
        title=title,
    )


@style.styled
def calibration_noise_seeds(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None, title: str = ""
) -> Drawing:
    """LLC against training step with the same noise and minibatches at every checkpoint, and fresh ones."""
    name = "llc_by_noise_seed"
    data, one, label = _measured(datasets, distribution, seed, name, f"{name}_se")
    markers = dict(zip(one["noise_seed"].values.tolist(), cycle(style.MARKERS), strict=False))
    panels = []
    for part in one["component"].values.tolist():
        curves = [
            curve(one.sel(component=part, seeding=seeding, noise_seed=n), name, {"marker": marker} | look)
            for seeding, (_, look) in SEEDINGS.items()
            for n, marker in markers.items()
        ]
        panels.append(Panel(f"{part} on {style.short(label, 18)}", curves, over=style.zero))
    keys = [
        *(style.key(text, **look) for text, look in SEEDINGS.values()),
        *(style.key(f"seed {n}", color="#666666", linestyle="none", marker=m) for n, m in markers.items()),
    ]
    row = Row("LLC", panels, keys, "noise and minibatches")
    return captions.drawing(
        sheet([row], panel=(2.6, 2.2), margin=1.5, title=title, sharex=True)[0],
        data,
        _roughness(one[name]),
        f"LLC on {label} with the noise and minibatches of a seed at every checkpoint (solid) or drawn anew "
        "at each (dashed); a marker per seed.",
        conditions=[captions.BANDS, _settings(data)],
        title=title,
    )


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
