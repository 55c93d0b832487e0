"""The grammar of figures: rows of panels, each a title and curves over training steps.

A figure of one variable of every head, a row per seed and a column per layer, is

    data = over_heads(datasets, "heads", "previous_token", seeds=seeds)
    rows = []
    for seed in data["seed"].values.tolist():
        one = data.sel(seed=seed)
        looks = style.head_styles(one["head_type"])
        panels = [
            Panel(f"layer {n}{seed_suffix(data['seed'], seed)}", of_heads(one, "previous_token", looks, n))
            for n in layers(data)
        ]
        rows.append(Row("attention", panels, style.head_keys(one["head_type"], looks), "head, type"))
    return captions.drawing(sheet(rows, sharex=True)[0], data, "What was found.")
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rllc.figures import style
from rllc.figures.inputs import faulty, heads_of_layer


class Curve(NamedTuple):
    """Values over ``step``, the line's look, standard errors, and where the values cannot be trusted."""

    values: xr.DataArray
    look: Mapping[str, Any]
    error: xr.DataArray | None = None
    faulty: xr.DataArray | None = None
    ring_look: Mapping[str, Any] | None = None


class Panel(NamedTuple):
    """What stands in one place of a figure.

    look         of the title
    under, over  draw on the axes before and after the curves
    steps        of the horizontal axis; default those of the first curve
    x            label of a horizontal axis that is not of training steps
    """

    title: str
    curves: Sequence[Curve] = ()
    look: Mapping[str, Any] = MappingProxyType({})
    under: Callable[[Axes], object] | None = None
    over: Callable[[Axes], object] | None = None
    steps: np.ndarray | None = None
    x: str | None = None


class Row(NamedTuple):
    """Panels side by side, the label of their vertical axis, and the legend beside the last of them."""

    label: str
    panels: Sequence[Panel]
    keys: Sequence[Line2D] = ()
    heading: str | None = None


def sheet(
    rows: Sequence[Row],
    *,
    panel: tuple[float, float] = style.PANEL,
    margin: float = style.MARGIN,
    entries: int = 1,
    title: str = "",
    **share: bool | str,
) -> tuple[Figure, np.ndarray]:
    """The figure of ``rows``; arguments as of ``style.grid``. Panels that a row lacks are hidden."""
    width = max(len(row.panels) for row in rows)
    figure, axes = style.grid(
        len(rows), width, panel=panel, margin=margin, entries=entries, title=title, **share
    )
    for line, row in zip(axes, rows, strict=True):
        for ax in line[len(row.panels) :]:
            ax.set_visible(False)
        for ax, each in zip(line, row.panels, strict=False):
            draw(ax, each)
        line[0].set_ylabel(row.label)
        if row.keys:
            style.beside(line[-1], row.keys, title=row.heading)
    return figure, axes


def draw(ax: Axes, panel: Panel) -> None:
    """One panel, over training steps where it has no ``x``."""
    if panel.under is not None:
        panel.under(ax)
    for curve in panel.curves:
        style.curve(
            ax, curve.values, curve.error, faulty=curve.faulty, ring_look=curve.ring_look, **curve.look
        )
    if panel.over is not None:
        panel.over(ax)
    ax.set_title(panel.title, loc="left", **panel.look)
    if panel.x is None:
        style.step_axis(ax, panel.curves[0].values["step"].values if panel.steps is None else panel.steps)
    else:
        ax.set_xlabel(panel.x)


def curve(data: xr.Dataset, name: str, look: Mapping[str, Any]) -> Curve:
    """The curve of ``data[name]`` (step) with its standard error and verdicts, where there are any."""
    return Curve(data[name], look, data.get(f"{name}_se"), faulty(data, name))


def of_heads(
    data: xr.Dataset, name: str, looks: Mapping[str, Mapping[str, Any]], layer: int | None = None
) -> list[Curve]:
    """The curves of every head of one layer (None: of all) that has a look; ``data[name]`` (step, head)."""
    heads = list(looks) if layer is None else heads_of_layer(data, layer)
    return [curve(data.sel(head=head), name, looks[head]) for head in heads]


def chunks(items: Sequence, columns: int) -> list[Sequence]:
    """Items in rows of at most ``columns``."""
    return [items[start : start + columns] for start in range(0, len(items), columns)]


def seed_suffix(seeds: xr.DataArray | Sequence[int], seed: int) -> str:
    """What the title of a panel says of its seed where there are several: ", seed 1"."""
    return f", seed {seed}" if len(np.atleast_1d(seeds)) > 1 else ""


def level(value: float = 0.0, **look: Any) -> Callable[[Axes], object]:
    """Draws a thin horizontal line, by default at 0."""
    return partial(Axes.axhline, y=value, **({"color": "#333333", "linewidth": 0.8, "zorder": 1} | look))


def ticks_at(ax: Axes, values: np.ndarray) -> None:
    """A logarithmic horizontal axis with a label at each of ``values`` and nowhere else."""
    ax.set_xscale("log")
    ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.minorticks_off()


def all_of(*parts: Callable[[Axes], object]) -> Callable[[Axes], None]:
    """Draws one after the other."""

    def draw_all(ax: Axes) -> None:
        for part in parts:
            part(ax)

    return draw_all


def together(axes: Iterable[Axes]) -> None:
    """The same vertical range for all panels shown, which holds what each shows."""
    shown = [ax for ax in axes if ax.get_visible()]
    limits = [ax.get_ylim() for ax in shown]
    for ax in shown:
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def stage_bands(ax: Axes, boundaries: Sequence[float]) -> None:
    """Shade every second interval between ascending ``boundaries`` (steps)."""
    for start, end in zip(boundaries[:-1:2], boundaries[1::2], strict=False):
        ax.axvspan(start, end, color="#f2efe6", zorder=0, linewidth=0)
