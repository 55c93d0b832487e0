"""Dependence of estimates on data, minibatches and noise, at a fixed setting.

After arXiv 2402.02364, Figs. A.1 and D.3 to D.5 (there for a regression transformer), for every experiment
that has dependence.nc, and for heads and whole models.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import cycle, product

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rllc.analysis.recorded import recorded
from rllc.figures import conditions, style
from rllc.figures.drawing import Datasets, Drawing, Finding, headed
from rllc.figures.findings import known, percent
from rllc.figures.inputs import need, of_seeds, one_distribution, one_label
from rllc.figures.panels import Panel, Row, all_of, curve, sheet, ticks_at
from rllc.figures.sampler.traces import running

SEEDINGS = {
    "shared": ("same at every\ncheckpoint", {"color": "#004488", "linestyle": "-"}),
    "fresh": ("anew at each", {"color": "#BB5566", "linestyle": "--"}),
}
FEW = 4  # largest number of findings of figures with long conditions
KINDS = {"full": "the whole model", "heads": "heads"}
# variable with traces -> name of their loss
LOSSES = {
    "paired_loss": "all predictions",
    "paired_loss_likelihood": "one prediction of each context",
}


def _measured(
    datasets: Datasets, distribution: str | None, seed: int | None, *names: str
) -> tuple[xr.Dataset, xr.Dataset, str]:
    """Return variables of one seed and distribution with these dims, those without, and the label."""
    dependence = of_seeds(need(datasets, "dependence", *names), None if seed is None else [seed])
    chosen = one_distribution(dependence, distribution)
    data = dependence[[*names]].sel(distribution=[chosen]).isel(seed=[0]).assign_attrs(dependence.attrs)
    return data, data.isel(seed=0, distribution=0), one_label(data, chosen)


def _conditions(data: xr.Dataset) -> list[str]:
    """Return the setting of every kind of component, the chains, and the training seed."""
    values = recorded(data, "dependence")
    settings = [
        f"Setting of {KINDS[kind]}: n_beta {each['n_beta']:g}, localization {each['localization']:g}, "
        f"step_size {each['step_size']:g}, batch_size {each['batch_size']}."
        for kind, each in values.get("settings", {}).items()
    ]
    chains = [f"{values['chains']} chains of {values['draws']} draws."] if "chains" in values else []
    return [*settings, *chains, *conditions.seeds(data)]


def _looks(values: xr.DataArray, **more: str) -> dict[int, dict]:
    """Return line properties of ascending values, from dark to light."""
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
    """Return a figure with a panel per title, drawn by its function. ``looks`` holds those of the steps."""
    panels = [Panel(name, over=all_of(each, style.zero), x=x) for name, each in draw.items()]
    keys = [style.key(style.step_text(step), **look) for step, look in looks.items()]
    row = Row(y, panels, keys, "training step")
    return sheet([row], panel=(2.6, height), margin=1.2, title=title, sharex=True)[0]


@style.styled
def calibration_running_estimates(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None, title: str = ""
) -> Drawing:
    """Running LLC estimate against draws. Panels: components. Lines: checkpoints.

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

    panels, places = {}, list(product(parts, index.values.tolist()))
    for part, loss in places:
        below = f"\n{loss}" if len(losses) > 1 else ""
        panels[f"{part} on {style.short(label, 18)}{below}"] = partial(
            draw, at={"component": part, "loss": loss}
        )
    return Drawing(
        _figure(panels, looks, x="draw", y="running LLC estimate", height=2.3, title=title),
        traces.to_dataset(),
        headed(title, f"Running LLC estimate on {label} against draws, a line per checkpoint."),
        known(_ends(shown), FEW),
        ["Lines: means over chains; bands: all chains.", *_conditions(data)],
    )


def _ends(shown: xr.DataArray) -> list[Finding]:
    """Return the estimate after the last draw at the last checkpoint, of the whole model first."""
    last, step = shown.isel(draw=-1, step=-1).mean("chain"), int(shown["step"][-1])
    found = []
    for part, loss in product(_whole_first(shown), shown["loss"].values.tolist()):
        of = f", {loss}" if shown.sizes["loss"] > 1 else ""
        label = f"LLC of {_named(part)} at step {step:,}{of}"
        found.append(Finding(label, float(last.sel(component=part, loss=loss))))
    return found


def _whole_first(values: xr.DataArray) -> list[str]:
    return sorted(values["component"].values.tolist(), key=lambda part: part != "full")


def _named(part: str) -> str:
    return "the whole model" if part == "full" else f"head {part}"


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

    change = abs(one[name] / one[name].isel(dataset_size=-1) - 1)
    panels = {
        f"{part} on {style.short(label, 18)}": partial(draw, part=part)
        for part in one["component"].values.tolist()
    }
    return Drawing(
        _figure(panels, looks, x="contexts drawn from", y="LLC", height=2.2, title=title),
        data,
        headed(title, f"LLC against the number of contexts of {label} that minibatches are drawn from."),
        known(_changes(percent(change))),
        [
            "Medians over components and steps.",
            "Error bars: one Monte Carlo standard error, given the minibatches.",
            *_conditions(data),
        ],
    )


def _changes(change: xr.DataArray) -> list[Finding]:
    """Return the change of the LLC from all contexts to fewer: medians, and the largest single one."""
    *fewer, most = change["dataset_size"].values.tolist()
    label = f"change of the LLC against {most} contexts, for"
    found = [
        Finding(f"{label} {size}, median", float(change.sel(dataset_size=size).median()), unit="%")
        for size in fewer
    ]
    return found + [
        Finding(f"{label} {size}, largest", float(change.sel(dataset_size=size).max()), unit="%")
        for size in fewer[:1]
    ]


@style.styled
def calibration_batch_size(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None, title: str = ""
) -> Drawing:
    """LLC against training step by minibatch size. Top: loss on the same minibatch. Bottom: on a new one."""
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
    spreads = {
        "spread of the LLC over minibatch sizes": spread,
        "change of the LLC on new minibatches": apart,
    }
    return Drawing(
        sheet(rows, panel=(2.6, 1.9), margin=1.2, title=title, sharex=True, sharey="col")[0],
        data,
        headed(title, f"LLC on {label} over training by minibatch size, on the same or on new minibatches."),
        known(
            Finding(f"{name}, {which}", float(percent(number)), unit="%")
            for name, values in spreads.items()
            for which, number in (("median", values.median()), ("largest", values.max()))
        ),
        [
            "Medians over components and steps.",
            "Same: the minibatch whose gradient moves the chain; new: another of its size.",
            conditions.BANDS,
            *_conditions(data),
        ],
    )


@style.styled
def calibration_noise_seeds(
    datasets: Datasets, *, distribution: str | None = None, seed: int | None = None, title: str = ""
) -> Drawing:
    """LLC against training step with equal noise and minibatches at every checkpoint, and with new ones."""
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
    return Drawing(
        sheet([row], panel=(2.6, 2.2), margin=1.5, title=title, sharex=True)[0],
        data,
        headed(title, f"LLC on {label} with noise and minibatches shared by checkpoints, or fresh at each."),
        known(_roughness(one[name]), FEW),
        [
            "Findings: sd over noise seeds, mean over steps.",
            conditions.BANDS,
            *_conditions(data),
        ],
    )


def _roughness(values: xr.DataArray) -> list[Finding]:
    """Return the disagreement of noise seeds about neighbouring checkpoints; nothing with one seed."""
    if values.sizes["noise_seed"] < 2 or values.sizes["step"] < 2:
        return []
    noise = values.diff("step").std("noise_seed", ddof=1).mean("step")
    return [
        Finding(
            f"sd of the LLC's change between checkpoints, {_named(part)}, {seeding} noise",
            float(noise.sel(component=part, seeding=seeding)),
        )
        for part in _whole_first(values)
        for seeding in SEEDINGS
    ]
