"""Building blocks of figures: rows of panels, each with a title and curves over training steps.

A figure of one variable of every head, a row per seed and a column per layer, is

    data = over_heads(datasets, "attention_scores", "previous_token", seeds=seeds)
    rows = []
    for _, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        panels = layer_panels(one, "previous_token", looks, suffix)
        rows.append(Row("attention", panels, style.head_keys(one["head_type"], looks), "head, type"))
    found = [Finding("highest previous-token score", float(data["previous_token"].max()))]
    return Drawing(sheet(rows, sharex=True)[0], data, "What is drawn.", found, conditions.seeds(data))
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rllc.analysis.intervals import half_width
from rllc.figures import style
from rllc.figures.inputs import faulty, heads_of_layer, layers
from rllc.figures.uncertain import called

BELOW = (0.55, 0.05)  # width in inches of an entry of the legend below all panels: of its handle, of a letter


class Curve(NamedTuple):
    """Values over ``step``, line properties, standard errors, and a mask of unreliable values."""

    values: xr.DataArray
    look: Mapping[str, Any]
    error: xr.DataArray | None = None
    faulty: xr.DataArray | None = None
    ring_look: Mapping[str, Any] | None = None


class Panel(NamedTuple):
    """The content of one place of a figure.

    look         of the title
    under, over  draw on the axes before and after the curves
    steps        of the horizontal axis; default those of the first curve
    x            label of a horizontal axis other than training steps
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
    keys: Sequence[Artist] = ()
    heading: str | None = None


def sheet(rows: Sequence[Row], **layout: Any) -> tuple[Figure, np.ndarray]:
    """Return the figure of ``rows`` and its axes. ``layout`` goes to ``style.grid``.

    If a row lacks panels, the first empty place has its legend, and the others are hidden. Labelled artists
    of panels get a legend below all panels. Panels with a shared axis cover the steps of all, because models
    may be trained for different times.
    """
    own = [_steps(panel) for row in rows for panel in row.panels if panel.x is None]
    steps = np.unique(np.concatenate(own)) if own and layout.get("sharex") is True else None
    figure, axes = style.grid(len(rows), max(len(row.panels) for row in rows), **layout)
    for line, row in zip(axes, rows, strict=True):
        free = line[len(row.panels) :]
        for n, ax in enumerate(free):
            ax.set_axis_off()
            ax.set_visible(n == 0 and bool(row.keys))
        for ax, each in zip(line, row.panels, strict=False):
            draw(ax, each, steps)
        line[0].set_ylabel(row.label)
        if row.keys:
            where, at = (free[0], 0.0) if free.size else (line[-1], 1.02)
            style.beside(where, row.keys, title=row.heading, at=at)
    for line, row, below in zip(axes, rows, rows[1:], strict=False):
        for ax, panel in [*zip(line, row.panels, strict=False)][len(below.panels) :]:  # the last in a column
            ax.tick_params(labelbottom=True)
            ax.set_xlabel(panel.x or style.STEPS)
    named_below(figure, axes.flat)
    return figure, axes


def named_below(figure: Figure, axes: Iterable[Axes]) -> None:
    """Draw a legend under all panels for their labelled artists, such as bands of stages; areas come first.

    The layout makes room for it, and the figure grows by that height.
    """
    named = (pair for ax in axes for pair in zip(*ax.get_legend_handles_labels(), strict=True))
    first = {label: handle for handle, label in reversed([*named])}
    listed = sorted(((handle, label) for label, handle in first.items()), key=_area_first)
    if not listed:
        return
    width, height = figure.get_size_inches()
    entry = BELOW[0] + BELOW[1] * sum(len(label) for _, label in listed) / len(listed)
    columns = min(len(listed), max(int(width // entry), 1))
    figure.set_size_inches(width, height + 0.2 * -(-len(listed) // columns))
    handles, labels = zip(*listed, strict=True)
    figure.legend(handles, labels, loc="outside lower left", ncols=columns, columnspacing=1.2)


def _area_first(named: tuple[Artist, str]) -> tuple[bool, str]:
    return isinstance(named[0], Line2D), named[1]


def _steps(panel: Panel) -> np.ndarray:
    """Return the steps of a panel's horizontal axis."""
    return panel.curves[0].values["step"].values if panel.steps is None else panel.steps


def draw(ax: Axes, panel: Panel, steps: np.ndarray | None = None) -> None:
    """Draw one panel. Without ``x``, its axis has training steps: ``steps``, or those of the panel."""
    if panel.under is not None:
        panel.under(ax)
    for each in panel.curves:
        draw_curve(ax, each)
    if panel.over is not None:
        panel.over(ax)
    ax.set_title(panel.title, loc="left", **panel.look)
    if panel.x is None:
        style.step_axis(ax, _steps(panel) if steps is None else steps)
    else:
        ax.set_xlabel(panel.x)


def draw_curve(ax: Axes, curve: Curve) -> None:
    """Draw a line with gaps at missing values, a band of its error, rings, and crosses in gaps."""
    x, y = curve.values["step"].values, curve.values.values
    (line,) = ax.plot(x, y, **curve.look)
    color = line.get_color()
    if curve.error is not None:
        error = half_width(curve.error).values
        ax.fill_between(x, y - error, y + error, color=color, alpha=0.18, linewidth=0)
    if curve.faulty is not None:
        style.ring(ax, curve.values, curve.faulty, **(curve.ring_look or {}))
    absent = ~np.isfinite(y)
    if absent.any():
        style.crosses(ax, x[absent], 0.03, markeredgewidth=1.3, color=color)


def curve(data: xr.Dataset, name: str, look: Mapping[str, Any]) -> Curve:
    """Return the curve of ``data[name]`` (step), with its standard error and quality flags if they exist."""
    return Curve(data[name], look, data.get(f"{name}_se"), faulty(data, name))


def of_heads(
    data: xr.Dataset, name: str, looks: Mapping[str, Mapping[str, Any]], layer: int | None = None
) -> list[Curve]:
    """Return the curves of ``data[name]`` (step, head) for the heads of a layer (None: all) in ``looks``."""
    heads = list(looks) if layer is None else heads_of_layer(data, layer)
    return [curve(data.sel(head=head), name, looks[head]) for head in heads]


def layer_panels(
    one: xr.Dataset, name: str, looks: Mapping[str, Mapping], title: str, **frame
) -> list[Panel]:
    """Return a panel per layer with the curves of its heads. Its title is "layer 0" and ``title``."""
    return [Panel(f"layer {n}{title}", of_heads(one, name, looks, n), **frame) for n in layers(one)]


def head_grid(
    data: xr.Dataset,
    curves: Callable[[xr.Dataset], list[Curve]],
    like: Row,
    across: int = 4,
    behind: Callable[[int, list[Panel]], list[Panel]] = lambda seed, panels: panels,
    **frame,
) -> list[Row]:
    """Return a panel per head, ``across`` in a row, with seeds and layers one below the other.

    curves  of one head
    like    the label of every row, below that of its seed if there are several; the legend beside the first
    behind  the panels of a seed -> the same with what is drawn below their curves
    """
    rows = []
    for seed, suffix, one in by_seed(data):
        label = f"seed {seed}\n{like.label}" if suffix else like.label
        for heads in [row for layer in layers(one) for row in chunks(heads_of_layer(one, layer), across)]:
            panels = []
            for head in heads:
                cell = one.sel(head=head)
                kind = cell["head_type"].item()
                color = {"color": style.TYPE_COLORS[kind]}
                panels.append(Panel(f"{head} {called(cell['head_type'])}", curves(cell), color, **frame))
            rows.append(
                like._replace(label=label, panels=behind(seed, panels), keys=[] if rows else like.keys)
            )
    return rows


def by_seed(data: xr.Dataset) -> Iterator[tuple[int, str, xr.Dataset]]:
    """Yield every training seed, its suffix of titles if there are several (", seed 1"), and its data."""
    for seed in data["seed"].values.tolist():
        yield seed, seed_suffix(data["seed"], seed), data.sel(seed=seed)


def chunks(items: Sequence, columns: int) -> list[Sequence]:
    """Return the items in rows of at most ``columns``."""
    return [items[start : start + columns] for start in range(0, len(items), columns)]


def seed_suffix(seeds: xr.DataArray | Sequence[int], seed: int) -> str:
    """Return the suffix of a panel's title: ", seed 1" if there are several seeds, else ""."""
    return f", seed {seed}" if len(np.atleast_1d(seeds)) > 1 else ""


def column_width(data: xr.Dataset) -> float:
    """Return the width of a panel in inches if every seed has a column: smaller for more than three seeds."""
    return 3.6 if data.sizes["seed"] <= 3 else 2.6


def level(value: float = 0.0, **look: Any) -> Callable[[Axes], object]:
    """Return a function that draws a thin horizontal line, by default at 0."""
    return partial(Axes.axhline, y=value, **({"color": "#333333", "linewidth": 0.8, "zorder": 1} | look))


def ticks_at(ax: Axes, values: np.ndarray) -> None:
    """Set a logarithmic horizontal axis with labels only at ``values``."""
    ax.set_xscale("log")
    ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.minorticks_off()


def all_of(*parts: Callable[[Axes], object]) -> Callable[[Axes], None]:
    """Return a function that calls the given ones in order."""

    def draw_all(ax: Axes) -> None:
        for part in parts:
            part(ax)

    return draw_all


def together(axes: Iterable[Axes]) -> None:
    """Give all visible panels the same vertical range, which includes that of each."""
    shown = [ax for ax in axes if ax.get_visible() and ax.axison]
    limits = [ax.get_ylim() for ax in shown]
    for ax in shown:
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
