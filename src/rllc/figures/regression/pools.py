"""Trainings on finitely many tasks (arXiv 2402.02364, Fig. C.2)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seed
from rllc.figures.findings import known
from rllc.figures.panels import Curve, Panel, Row, all_of, sheet
from rllc.figures.regression.inputs import law, of_sequences

ENDLESS = "endless"
# least distance -> its name in the legend, and its look
LEAST: dict[str, tuple[str, dict[str, Any]]] = {
    "least_to_zero": ("from 0", {"color": "#4477AA", "marker": "o", "linestyle": "--"}),
    "least_to_prior": ("from the mean task", {"color": "#AA4499", "marker": "s"}),
}
RATIO = "Distance ratio: least distance from the mean task's prediction over that from 0, step 0 left out."


@style.styled
def stage_figC2(datasets: Datasets, *, seed: Seed = None) -> Drawing:  # noqa: N802
    """Distances of predictions from 0 and from the mean task's. Right: the least by number of tasks.

    datasets  ``regression_predictions`` of one experiment, ``regression_predictions@<experiment>`` of others
    """
    parts: dict[str, xr.Dataset] = {}
    for name, source in datasets.items():
        if name.partition("@")[0] == "regression_predictions":
            one = inputs.of_seed(inputs.need(datasets, name, "delta_zero", "delta_prior"), seed)
            near = {"to_zero": one["delta_zero"], "to_prior": one["delta_prior"]}
            parts[_tasks(source)] = xr.Dataset(near)
    pools = sorted(parts, key=lambda tasks: float("inf") if tasks == ENDLESS else int(tasks))
    data = xr.concat([parts[tasks] for tasks in pools], xr.IndexVariable("tasks", pools), join="outer")
    looks = {
        tasks: style.numbered(n, color) for n, (tasks, color) in
        enumerate(zip(pools, style.shades(len(pools)), strict=True))
    }  # fmt: skip
    data = data.assign({f"least_{name}": _least(data[name]) for name in ("to_zero", "to_prior")})
    panels = []
    for name, title in {"to_zero": "from 0", "to_prior": "from the mean task's prediction"}.items():
        curves = [Curve(data[name].sel(tasks=tasks).dropna("step"), looks[tasks]) for tasks in pools]
        panels.append(Panel(f"distance {title}", curves, over=style.log_scale))
    panels.append(
        Panel(
            "least distance by number of tasks",
            over=all_of(partial(_by_tasks, data=data), style.log_scale),
            x="tasks",
        )
    )
    ratios = dict(zip(pools, (data["least_to_prior"] / data["least_to_zero"]).values.tolist(), strict=True))
    keys = [style.key(_named(tasks), **look) for tasks, look in looks.items()]
    keys += [style.key(f"least {LEAST[name][0]}", **LEAST[name][1]) for name in LEAST]
    figure, _ = sheet([Row("mean squared distance", panels, keys, "tasks")], panel=(3.3, 2.5), sharey=True)
    return Drawing(
        figure,
        data,
        "Distance of the predictions from 0 and from the mean task's over training, and the least of each.",
        _findings(ratios),
        [
            RATIO,
            *of_sequences(datasets["regression_predictions"]),
            *(["Where tasks are endless their mean is 0."] if ENDLESS in pools else []),
            *conditions.seeds(data),
        ],
    )


def _findings(ratios: Mapping[str, float]) -> list[Finding]:
    """Return the ratio of every number of tasks, and the largest number whose ratio falls below 1."""
    finite = {int(tasks): ratio for tasks, ratio in ratios.items() if tasks != ENDLESS}
    nearer = [tasks for tasks, ratio in finite.items() if ratio < 1]
    most = [Finding("most tasks with a distance ratio below 1", float(max(nearer)))] if nearer else []
    return known([*most, *(Finding(f"distance ratio, tasks {n:,}", ratio) for n, ratio in finite.items())])


def _least(distance: xr.DataArray) -> xr.DataArray:
    """Return the smallest distance (tasks) over the steps after step 0, as the claims take it."""
    return distance.sel(step=slice(1, None)).min("step")


def _by_tasks(ax: Axes, *, data: xr.Dataset) -> None:
    """Draw the least distances against the number of tasks, at equal distances."""
    places = np.arange(data.sizes["tasks"])
    for name, (_, look) in LEAST.items():
        ax.plot(places, data[name].values, **look)
    ax.set_xticks(places, [_named(tasks) for tasks in data["tasks"].values.tolist()], rotation=30)


def _named(tasks: str) -> str:
    return tasks if tasks == ENDLESS else f"{int(tasks):,}"


def _tasks(source: xr.Dataset) -> str:
    """Return the number of tasks that a dataset records for its sequences."""
    count = law(source, "regression_predictions").get("tasks")
    return ENDLESS if count is None else str(count)
