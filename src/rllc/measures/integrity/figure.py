"""Integrity of a series of checkpoints: loss, distances, and checkpoints that are out of place or equal."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from rllc.analysis.checkpoint_order import EQUAL, OUT_OF_PLACE, SHARE, TURN
from rllc.analysis.recorded import recorded
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds
from rllc.figures.findings import at_end, known, over_seeds
from rllc.figures.naming import Named, beside_points
from rllc.figures.panels import Curve, Panel, Row, all_of, by_seed, column_width, level, sheet
from rllc.units import NATS

DRAWN = ("loss", "loss_se", "relative_distance", "turn", "equal_to", "outlier")
LOSS, APART, TURNS = (
    {"color": color, "marker": "o", "markersize": 2.2, "linewidth": 1.1}
    for color in ("#332288", "#117733", "#333333")
)
MARKS: dict[int, tuple[str, dict[str, Any]]] = {  # flag -> its name and its mark
    OUT_OF_PLACE: ("out of place", style.DISTRUST | {"zorder": 4}),
    EQUAL: (
        "equal to an earlier\ncheckpoint",
        style.DISTRUST | {"marker": "s", "markeredgecolor": "#0072B2", "zorder": 4},
    ),
}
LIMIT = {"color": "#777777", "linewidth": 1.0, "linestyle": (0, (4, 2))}
AT_MOST = 12  # named checkpoints of a panel
FLOOR = 0.05  # height of marks without a value, as a share of the panel's


@style.styled
def checkpoint_integrity(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """Loss, distance to the checkpoint before, and turn of the path; outliers are named. Columns: seeds."""
    held = inputs.of_seeds(inputs.need(datasets, "checkpoints", *DRAWN), seeds)
    data = held[[*DRAWN]]
    steps = data["step"].values
    losses, distances, turns = [], [], []
    for _, suffix, one in by_seed(data):
        apart = one["relative_distance"].where(one["relative_distance"] > 0)
        mark = partial(_mark, _flags(one))
        losses.append(
            Panel(
                f"held-out loss{suffix}",
                [Curve(one["loss"], LOSS, one["loss_se"])],
                over=partial(mark, one["loss"]),
                steps=steps,
            )
        )
        distances.append(
            Panel(
                f"distance to the one before{suffix}",
                [Curve(apart.dropna("step"), APART)],
                over=all_of(_logarithmic, partial(mark, apart)),
                steps=steps,
            )
        )
        turns.append(
            Panel(
                f"turn of the path{suffix}",
                [Curve(one["turn"].dropna("step"), TURNS)],
                over=all_of(level(TURN, **LIMIT), partial(mark, one["turn"]), _all_cosines),
                steps=steps,
            )
        )
    unit = str(held["loss"].attrs.get("units", NATS))
    rows = [
        Row(unit, losses, _keys(data)),
        Row("share of the norm", distances),
        Row("cosine", turns, [style.key(f"turned back: {TURN:g}", **LIMIT)]),
    ]
    figure, axes = sheet(rows, panel=(column_width(data), 1.9), sharex=True, sharey="row")
    for (*_, one), ax in zip(by_seed(data), axes[0], strict=True):
        _name(ax, one)
    return Drawing(
        figure,
        data,
        "Loss on held-out text, distance of each checkpoint to the one before, and turn of the path there.",
        known(_findings(data)),
        [*_conditions(held), *conditions.missing(data, "loss"), *conditions.seeds(data)],
    )


def _flags(data: xr.Dataset) -> xr.DataArray:
    """Return the flags as integers; missing checkpoints have none."""
    return data["outlier"].fillna(0).astype(np.int8)


def _mark(flags: xr.DataArray, values: xr.DataArray, ax: Axes) -> None:
    """Mark flagged checkpoints at their values, or at the floor of the panel where they have none."""
    steps = values["step"].values
    for flag, (_, look) in MARKS.items():
        where = (flags.values & flag) > 0
        there = where & np.isfinite(values.values)
        ax.plot(steps[there], values.values[there], **look)
        absent = steps[where & ~there]
        ax.plot(absent, np.full(absent.size, FLOOR), transform=ax.get_xaxis_transform(), **look)


def _logarithmic(ax: Axes) -> None:
    """Set a logarithmic scale with labels between the powers of ten too."""
    style.log_scale(ax)
    style.label_decades(ax.yaxis, *ax.get_ylim(), (1, 2, 5))


def _all_cosines(ax: Axes) -> None:
    """Set the range of cosines, with room for marks at its ends."""
    ax.set_ylim(-1.15, 1.15)
    ax.set_yticks([-1, -0.5, 0, 0.5, 1])


def _keys(data: xr.Dataset) -> list[Line2D]:
    """Return the legend entries of the marks that are drawn."""
    flags = _flags(data).values
    return [style.key(name, **look) for flag, (name, look) in MARKS.items() if (flags & flag).any()]


def _name(ax: Axes, one: xr.Dataset) -> None:
    """Name the marked checkpoints of a seed beside their losses, the first ``AT_MOST``."""
    points = []
    for step in one["step"].values[_flags(one).values > 0][:AT_MOST].tolist():
        cell = one.sel(step=step)
        equal = int(cell["equal_to"]) if int(cell["outlier"]) & EQUAL else None
        name = f"{step:,}" if equal is None else f"{step:,} = {equal:,}"
        color = MARKS[OUT_OF_PLACE if equal is None else EQUAL][1]["markeredgecolor"]
        points.append(Named(name, step, float(cell["loss"]), color))
    beside_points(ax, points, reach=5)


def _findings(data: xr.Dataset) -> Iterator[Finding]:
    """Yield the number of marked checkpoints, the sharpest turn, the last loss, and the marked ones."""
    flags = _flags(data)
    for flag, said in ((OUT_OF_PLACE, "out of place"), (EQUAL, "equal to an earlier one")):
        yield Finding(f"checkpoints {said}", float(((flags & flag) > 0).sum()))
    yield from over_seeds("sharpest turn (cosine)", data["turn"].min("step"))
    yield from at_end("loss", data["loss"], data["loss_se"], NATS)
    for _, suffix, one in by_seed(data):
        for step in one["step"].values[_flags(one).values > 0].tolist():
            cell = one.sel(step=step)
            if int(cell["outlier"]) & EQUAL:
                yield Finding(f"step with the tensors of step {step:,}{suffix}", float(cell["equal_to"]))
            else:
                yield Finding(f"turn at step {step:,}{suffix}", float(cell["turn"]))


def _conditions(held: xr.Dataset) -> list[str]:
    """Return the rule, the text of the loss, and the bands."""
    values = recorded(held, "integrity")
    text = [f"Loss on {values['contexts']:,} contexts of {values['distribution']}."] if values else []
    return [
        "Turn: cosine of the angle between the steps to and from a checkpoint. Out of place: it is below "
        f"{TURN:g}, and without the checkpoint the path is shorter by at least {SHARE:g} of what it loses "
        "without a neighbour that turns back too.",
        *text,
        conditions.band(held["loss_se"], "over contexts"),
    ]
