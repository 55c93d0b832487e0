"""Style of figures: one colour per meaning, the step axis, error bands, marks of missing cells, legends."""

import colorsys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np
import xarray as xr
from matplotlib import colormaps, rc_context, rcParamsDefault
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from rllc.figures.fonts import families
from rllc.figures.uncertain import called

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

# All of matplotlib's defaults, so that a user's matplotlibrc does not change figures, and rllc's changes.
RC: "dict[RcKeyType, Any]" = {  # each setting has a type of its own
    **rcParamsDefault,
    "font.family": list(families()),
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.5,
    "lines.markersize": 3.5,
    "savefig.dpi": 160,
    "pdf.fonttype": 42,
    "svg.hashsalt": "rllc",
}
styled = rc_context(RC)  # decorator of every figure function

# Okabe and Ito's colours, which differ under the common colour-vision deficiencies.
TYPE_COLORS = {
    "previous-token": "#0072B2",
    "current-token": "#009E73",
    "induction": "#D55E00",
    "multigram": "#6E6E6E",
    "unknown": "#B5A642",
}
SHADES = (0.0, 0.35, -0.35, 0.5, -0.55)  # shades of heads of one type
# Tol's "muted" scheme and three darker ones: never used for types, so a colour means one thing.
DISTRIBUTIONS = ("mixture", "english", "code", "one_layer")
DISTRIBUTION_COLORS = (
    "#332288", "#AA4499", "#44AA99", "#999933", "#CC6677", "#88CCEE",
    "#117733", "#661100", "#DDCC77", "#6699CC", "#882255", "#000000",
)  # fmt: skip
CLUSTER_COLORS = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#885522", "#222222")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
CONTROL_COLOR = "#333333"
# A ring around a point whose quality has a fault, under the curves. Nothing else looks like it.
DISTRUST = {
    "linestyle": "none", "marker": "o", "markersize": 8, "markerfacecolor": "none",
    "markeredgecolor": "#B00020", "markeredgewidth": 1.1, "zorder": 1.9,
}  # fmt: skip
RING_ROOM = 0.13  # inches beside a ring at the first or last step
SMALL_RING = {"markersize": 5.0, "markeredgewidth": 0.7}  # if most of many estimates may have one
PANEL = (3.1, 2.3)  # inches
TALLEST, LOWEST = 15.0, 1.85  # inches: all rows of panels, lower where they are many, and such a row
MARGIN = 1.5
STEPS = "training step (log scale)"
LEGEND_ROWS = 9
Shared = bool | Literal["none", "all", "row", "col"]


class Places(TypedDict, total=False):
    """Options for axes that panels share, and for the height of a figure."""

    sharex: Shared
    sharey: Shared
    height_ratios: Sequence[float]


def lightness(color: str, amount: float) -> tuple[float, float, float]:
    """Return the colour moved towards white (``amount`` > 0) or black (< 0) by that share."""
    hue, light, saturation = colorsys.rgb_to_hls(*to_rgb(color))
    moved = light + amount * ((1 - light) if amount > 0 else light)
    return colorsys.hls_to_rgb(hue, moved, saturation)


def shades(count: int) -> list:
    """Return ``count`` colours from dark to light, none too light for a white page."""
    return [colormaps["viridis"](value) for value in np.linspace(0.0, 0.85, count)]


def numbered(n: int, color: Any) -> dict[str, Any]:
    """Return line properties in a colour, with the dash and the marker of number ``n``."""
    return {"color": color, "linestyle": LINES[n % len(LINES)], "marker": MARKERS[n % len(MARKERS)]}


def head_styles(types: xr.DataArray) -> dict[str, dict]:
    """Return line properties of each head of one seed: colour by type; shade, dash and marker within a type.

    types: ``head_type`` (head) of one seed.
    """
    seen, styles = Counter(), {}
    for head, kind in zip(types["head"].values.tolist(), types.values.tolist(), strict=True):
        shade = SHADES[seen[kind] % len(SHADES)]
        styles[head] = numbered(seen[kind], lightness(TYPE_COLORS[kind], shade))
        seen[kind] += 1
    return styles


def distribution_styles(names: Sequence[str]) -> dict[str, dict]:
    """Return line properties of each distribution, for the default study the same ones in every figure."""
    order = [*DISTRIBUTIONS, *(name for name in names if name not in DISTRIBUTIONS)]
    colors = dict(zip(order, cycle(DISTRIBUTION_COLORS), strict=False))
    return {name: numbered(order.index(name), colors[name]) for name in names}


def grid(
    rows: int,
    columns: int,
    *,
    panel: tuple[float, float] = PANEL,
    margin: float = MARGIN,
    entries: int = 1,
    title: str = "",
    **share: Unpack[Places],
) -> tuple[Figure, np.ndarray]:
    """Return a figure of ``rows`` x ``columns`` panels, with room at the right for ``entries`` of legends.

    panel, margin  inches; the margin is that of one column of legend entries; panels of so many rows that
                   they are together above ``TALLEST`` are lower, down to ``LOWEST``
    Returns the Figure and an object array of Axes [rows, columns].
    """
    width = columns * panel[0] + margin * legend_columns(entries)
    height = min(panel[1], max(TALLEST / rows, LOWEST))
    figure = Figure(figsize=(width, rows * height + 0.3), layout="constrained")
    entitle(figure, title)
    return figure, figure.subplots(rows, columns, squeeze=False, **share)


def entitle(figure: Figure, title: str) -> None:
    """Write the title of the whole figure above it, if it has one."""
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")


def legend_columns(entries: int) -> int:
    """Return the number of columns of a legend beside one panel."""
    return -(-max(entries, 1) // LEGEND_ROWS)


def step_axis(ax: Axes, steps: np.ndarray) -> None:
    """Set a logarithmic axis of training steps that keeps step 0: x = log(1 + step / first positive step).

    The last row of panels has the label.
    """
    steps = np.asarray(steps, dtype=np.float64)
    unit = min(steps[steps > 0], default=1.0)
    there, back = lambda x: np.log1p(np.maximum(x, -0.5 * unit) / unit), lambda y: unit * np.expm1(y)
    ax.set_xscale("function", functions=(there, back))
    first, last = steps.min(), steps.max() or 1.0
    low, high = there(first), there(last)
    place = ax.get_subplotspec()
    assert place is not None
    width = ax.figure.bbox.width / ax.figure.dpi / place.get_gridspec().ncols
    room = max(0.03, RING_ROOM / width) * (high - low) or 0.1
    ax.set_xlim(back(low - room), back(high + room))
    inner = _ticks(unit, last, (1,) if last > 100 * max(first, unit) else (1, 1.5, 2, 3, 5))
    inner = inner[(inner > first) & (inner < last)]
    start = first if first == 0 or not inner.size else inner[0]
    _label(ax.xaxis, _apart(np.array([start, *inner, last]), unit, max(0.14, 0.36 / width)))
    minor = _ticks(unit, last, range(2, 10))
    ax.xaxis.set_minor_locator(FixedLocator(minor[(minor >= unit) & (minor <= last)].tolist()))
    if place.is_last_row():
        ax.set_xlabel(STEPS)


def label_decades(axis: Axis, low: float, high: float, parts: Sequence[float]) -> None:
    """Label a logarithmic axis at ``parts`` of every power of ten from ``low`` to ``high``."""
    ticks = _ticks(low, high, parts)
    _label(axis, ticks[(ticks >= low) & (ticks <= high)])


def _label(axis: Axis, ticks: np.ndarray) -> None:
    axis.set_major_locator(FixedLocator(ticks.tolist()))
    axis.set_major_formatter(FuncFormatter(lambda value, _: step_text(value)))
    axis.set_minor_formatter(NullFormatter())


def _ticks(low: float, high: float, parts: Sequence[float]) -> np.ndarray:
    """Return ``parts`` of the powers of ten from below ``low`` to above ``high``, ascending."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    return np.sort(np.concatenate([powers * part for part in parts]))


def _apart(candidates: np.ndarray, unit: float, room: float) -> np.ndarray:
    """Return the first and the last candidate, and the others whose labels do not overlap a neighbour's.

    room  share of the axis that a label needs
    """
    where = np.log1p(candidates / unit)
    where = (where - where[0]) / ((where[-1] - where[0]) or 1.0)
    kept = [0]
    for i in range(1, len(candidates) - 1):
        if where[i] - where[kept[-1]] >= room and where[-1] - where[i] >= room:
            kept.append(i)
    return np.unique(candidates[[*kept, len(candidates) - 1]])


def from_zero(ax: Axes) -> None:
    """Start the vertical axis at 0, for counts. Its upper end stays, even if other panels share the axis."""
    ax.update_datalim([(ax.dataLim.x0, 0)])
    ax.autoscale_view()


def step_text(step: float) -> str:
    """Return a step as short text: 0, 250, 1k, 1.5k, 50k, 2M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if step >= size:
            return f"{step / size:.3g}{letter}"
    return f"{step:.3g}"


def short(label: str, length: int = 24) -> str:
    """Return the label cut to ``length`` characters, for titles and legends. Captions give it in full."""
    return label if len(label) <= length else f"{label[: length - 1].rstrip()}…"


def crosses(ax: Axes, x: np.ndarray, height: float, **look: Any) -> None:
    """Draw crosses where a value is missing or failed, at ``height`` as a share of the panel's height."""
    ax.plot(
        x, np.full(x.size, height), transform=ax.get_xaxis_transform(), linestyle="none", marker="x",
        markersize=5, clip_on=False, **look,
    )  # fmt: skip


def ring(ax: Axes, values: xr.DataArray, faulty: xr.DataArray, **look: Any) -> None:
    """Draw a ring around each of ``values`` (step) that is unreliable."""
    where = faulty.values & np.isfinite(values.values)
    if where.any():
        ax.plot(values["step"].values[where], values.values[where], **(DISTRUST | look))


def beside(ax: Axes, handles: Sequence[Artist], *, title: str | None = None, at: float = 1.02) -> None:
    """Draw a legend to the right of ``ax``, from ``at`` on. The layout makes room for it."""
    legend = ax.legend(
        handles=handles,
        title=title,
        loc="upper left",
        bbox_to_anchor=(at, 1.02),
        borderaxespad=0,
        ncols=legend_columns(len(handles)),
        columnspacing=1.0,
        alignment="left",
    )
    legend.get_title().set_fontsize(RC["legend.fontsize"])


def above(ax: Axes, handles: Sequence[Line2D]) -> None:
    """Draw a legend on the line of the title, at its right."""
    ax.legend(
        handles=handles, loc="lower right", bbox_to_anchor=(1.01, 1.0), borderaxespad=0, borderpad=0.1,
        ncols=len(handles), columnspacing=0.8, handlelength=1.3, handletextpad=0.4, fontsize=6.5,
    )  # fmt: skip


def key(label: str, **line) -> Line2D:
    return Line2D([], [], label=label, **line)


def ring_keys(named: Sequence[str], **look: Any) -> list[Line2D]:
    """Return the legend entry of the rings, with the reasons found; none without a reason."""
    lines = ",\n".join(", ".join(named[i : i + 2]) for i in range(0, len(named), 2))
    return [key(f"not reliable:\n{lines}", **(DISTRUST | look))] if named else []


def head_keys(types: xr.DataArray, styles: Mapping[str, dict]) -> list[Line2D]:
    """Return legend entries of the heads, "1:3 induction", "1:3 induction?" where that is uncertain."""
    heads = [head for head in types["head"].values.tolist() if head in styles]
    return [key(f"{head}  {called(types.sel(head=head))}", **styles[head]) for head in heads]


def log_scale(ax: Axes) -> None:
    """Set a logarithmic scale of values."""
    ax.set_yscale("log")


def zero(ax: Axes) -> None:
    ax.axhline(0.0, color="#999999", linewidth=0.7, zorder=1)
