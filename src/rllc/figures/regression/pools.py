"""Trainings on finitely many tasks (arXiv 2402.02364, Fig. C.2)."""

import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Seed
from rllc.figures.panels import Curve, Panel, Row, sheet
from rllc.figures.regression.inputs import at, law, least, of_sequences

ENDLESS = "endless"


@style.styled
def stage_figC2(datasets: Datasets, *, seed: Seed = None) -> Drawing:  # noqa: N802
    """Distance of the predictions from 0, and from what the mean task predicts; a line per number of tasks.

    datasets  ``in_context`` of one experiment, ``in_context@<experiment>`` of others
    """
    parts = {}
    for name, source in datasets.items():
        if name.partition("@")[0] == "in_context":
            one = inputs.of_seed(inputs.need(datasets, name, "delta_zero", "delta_prior"), seed)
            near = {"to_zero": one["delta_zero"], "to_prior": one["delta_prior"]}
            parts[_tasks(source)] = xr.Dataset(near)
    pools = sorted(parts, key=lambda tasks: float("inf") if tasks == ENDLESS else int(tasks))
    data = xr.concat([parts[tasks] for tasks in pools], xr.IndexVariable("tasks", pools), join="outer")
    looks = {
        tasks: style.numbered(n, color) for n, (tasks, color) in
        enumerate(zip(pools, style.shades(len(pools)), strict=True))
    }  # fmt: skip
    panels, said, near, far = [], [], [], []
    for name, title in {"to_zero": "from 0", "to_prior": "from the mean task's prediction"}.items():
        curves = [Curve(data[name].sel(tasks=tasks).dropna("step"), looks[tasks]) for tasks in pools]
        panels.append(Panel(f"mean squared distance {title}", curves, over=style.log_scale))
    for tasks in pools:
        one = data.sel(tasks=tasks)
        zero, prior = (least(one[name].dropna("step")) for name in ("to_zero", "to_prior"))
        said.append(f"{_named(tasks)}: {at(prior, '.3f')}, {float(prior) / float(zero):.2g} of that from 0")
        if tasks != ENDLESS:
            (near if float(prior) < float(zero) else far).append(_named(tasks))
    keys = [style.key(_named(tasks), **look) for tasks, look in looks.items()]
    figure, _ = sheet([Row("squared error", panels, keys, "tasks")], panel=(3.3, 2.5), sharey=True)
    return captions.drawing(
        figure,
        data,
        _nearer(near, far),
        f"Least distance from the mean task's prediction, by number of tasks: {'; '.join(said)}.",
        "Where tasks are endless their mean is 0, and both panels are one; of one task the mean is the task.",
        conditions=[of_sequences(datasets["in_context"]), "No uncertainty is drawn."],
    )


def _nearer(near: list[str], far: list[str]) -> str:
    """For which numbers of tasks predictions come nearer to the mean task's than to 0."""
    neither = captions.when(far, ", with " + " or ".join(far) + " they do not")
    return (
        f"With {' or '.join(near) or 'no number of'} tasks predictions come nearer to the mean task's than "
        f"to 0{neither}."
    )


def _named(tasks: str) -> str:
    return tasks if tasks == ENDLESS else f"{int(tasks):,}"


def _tasks(source: xr.Dataset) -> str:
    """How many tasks the sequences of a dataset have, as it recorded."""
    count = law(source, "in_context").get("tasks")
    return ENDLESS if count is None else str(count)
