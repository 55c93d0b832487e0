"""What no drawing may have, whatever it is of."""

from collections import Counter
from itertools import combinations, pairwise, product

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from rllc.figures.style import DISTRUST


def misplaced(drawing):
    """Texts that stick out of the figure, legends or tick labels of one axis that overlap, and rings that the
    side of their panel cuts."""
    drawing.figure.draw_without_rendering()
    whole = drawing.figure.bbox
    legends = [ax.get_legend() for ax in drawing.figure.axes if ax.get_visible() and ax.get_legend()]
    boxes = [each.get_window_extent() for each in (*legends, *drawing.figure.legends)]
    wrong = ["legends" for a, b in combinations(boxes, 2) if a.overlaps(b)]
    for ax in drawing.figure.axes:
        if not ax.get_visible():
            continue
        legend = ax.get_legend()
        texts = [
            ax.title,
            ax._left_title,
            ax.xaxis.label,
            ax.yaxis.label,
            *(legend.get_texts() if legend else []),
        ]
        for text in texts:
            box = text.get_window_extent()
            if text.get_text() and not (
                box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1
            ):
                wrong.append(text.get_text())
        others = [
            o._left_title.get_window_extent() for o in drawing.figure.axes if o is not ax and o.get_visible()
        ]
        mine = ax._left_title.get_window_extent()
        wrong += [f"title {ax.get_title('left')}" for other in others if mine.overlaps(other) and mine.width]
        low, high = ax.get_xlim()
        at = [(t.get_position()[0], t) for t in ax.get_xticklabels() if t.get_text() and t.get_visible()]
        boxes = [t.get_window_extent() for x, t in at if low <= x <= high]
        wrong += [f"ticks of {ax.get_title('left')}" for a, b in pairwise(boxes) if a.x1 > b.x0]
        rings = [line for line in ax.get_lines() if line.get_markeredgecolor() == DISTRUST["markeredgecolor"]]
        for line in rings:
            radius = (line.get_markersize() + line.get_markeredgewidth()) / 2 * ax.figure.dpi / 72
            x = line.get_transform().transform(line.get_xydata())[:, 0]
            if (x < ax.bbox.x0 + radius).any() or (x > ax.bbox.x1 - radius).any():
                wrong.append(f"ring in {ax.get_title('left')}")
    return wrong


def unnamed(drawing):
    """Panels of a grid whose axes nobody names: the upright one first in its row, the level one at it or below."""
    every = [ax for ax in drawing.figure.axes if ax.get_visible() and ax.axison and ax.get_subplotspec()]
    wrong = []
    for ax in every:
        at = ax.get_subplotspec()
        others = [(o, o.get_subplotspec()) for o in every if o.get_gridspec() is ax.get_gridspec()]
        first, _ = min((o for o in others if o[1].rowspan == at.rowspan), key=lambda o: o[1].colspan.start)
        below = [
            o
            for o, place in others
            if place.colspan == at.colspan and place.rowspan.start >= at.rowspan.start
        ]
        if any(text.get_text()[:1].isalpha() for text in first.get_yticklabels()):
            continue  # of bars, which titles name
        if not first.get_ylabel():
            wrong.append(f"upright axis of {ax.get_title('left')}")
        shared = len(ax.get_shared_x_axes().get_siblings(ax)) > 1
        ticks = any(o.xaxis.get_tick_params()["labelbottom"] for o in below)
        named = any(o.get_xlabel() for o in below)
        if (shared and not (ticks and named)) or (ticks and not named):
            wrong.append(f"level axis of {ax.get_title('left')}")
    return wrong


def unkeyed(drawing):
    """Keys of lines that no line is like, in colour, in dash with marker or in marker, and such as say the same."""
    legends = [*drawing.figure.legends, *(ax.get_legend() for ax in drawing.figure.axes if ax.get_legend())]
    drawn = [look(line) for ax in drawing.figure.axes for line in ax.get_lines()]
    colors, dashes, markers = {c for c, *_ in drawn}, {(d, m) for _, d, m in drawn}, {m for *_, m in drawn}
    wrong = []
    for legend in legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if isinstance(handle, Line2D):
                color, dash, marker = look(handle)
                heading = (dash, marker) == ("None", "None")
                like = color in colors or (dash, marker) in dashes or marker in markers - {"None"}
                wrong += [] if heading or like else [f"key {text.get_text()}"]
        texts = Counter(text.get_text() for text in legend.get_texts())
        wrong += [f"key {text} again" for text, number in texts.items() if text and number > 1]
    return wrong


def look(line):
    """Colour, dash and marker."""
    return to_hex(line.get_color()), str(line.get_linestyle()), str(line.get_marker())


def unlike(drawing, datasets):
    """Where the dataset drawn is not what the figure shows, or not what the datasets have."""
    return sorted(
        {*undocumented(drawing), *undrawn(drawing), *strange(drawing, datasets), *dropped(drawing, datasets)}
    )


def undocumented(drawing):
    """Panels with a line or a band of many points that is no row of any variable drawn, or part of one."""
    numbers = [values for values in drawing.data.data_vars.values() if values.dtype.kind in "fiu"]
    rows = [row for values in numbers for dim in values.dims for row in _along(values, dim)]
    wrong = []
    for ax in drawing.figure.axes:
        for kind, shown in (("line", curves(ax)), ("band", bands(ax))):
            if not all(any(_holds(row, each) for row in rows) for each in shown):
                wrong.append(f"{kind} in {ax.get_title('left')}")
    return wrong


def undrawn(drawing):
    """Variables over steps that are not, along any of their dims, all lines in panels; errors that are no band."""
    lines = [y for ax in drawing.figure.axes for y in curves(ax)]
    halves = [half for ax in drawing.figure.axes for half in bands(ax)]
    wrong = []
    for name, values in drawing.data.data_vars.items():
        if values.dtype.kind != "f" or "step" not in values.dims:
            continue
        if "_se" in name or name == "half_width":
            there = any(_holds(row, half) for row in _along(values, "step") for half in halves)
        else:
            each = [_along(values, dim) for dim in values.dims if values.sizes[dim] > 1]
            there = any(
                all(any(_holds(row, y) for y in lines) for row in rows if row.size > 1) for rows in each
            )
        wrong += [] if there else [name]
    return wrong


def curves(ax):
    """The values of every line of more than two points; without what is missing."""
    drawn = [line for line in ax.get_lines() if len(line.get_xdata()) > 2 and line.get_linestyle() != "None"]
    known = [y[np.isfinite(y)] for y in (np.asarray(line.get_ydata(), float) for line in drawn)]
    return [y for y in known if y.size > 1]


def bands(ax):
    """Half the height of every band of more than two points, from step to step."""
    areas = [each for each in ax.collections if isinstance(each, PolyCollection)]
    found = []
    for corners in (path.vertices[:, 1] for area in areas for path in area.get_paths()):
        many = (len(corners) - 3) // 2  # below from left to right, above from right to left, each end twice
        if many > 2 and len(corners) == 2 * many + 3:
            found.append((corners[many + 2 : -1][::-1] - corners[1 : many + 1]) / 2)
    return found


def _along(values, dim):
    """The rows of an array of numbers along a dim; without what is missing."""
    rows = values.transpose(..., dim).values.astype(float).reshape(-1, values.sizes[dim])
    return [row[np.isfinite(row)] for row in rows]


def _holds(row, part):
    """Whether ``part`` stands in ``row``, in one piece."""
    if row.size < part.size:
        return False
    pieces = np.lib.stride_tricks.sliding_window_view(row, part.size)
    return bool((np.abs(pieces - part) <= 1e-12 + 1e-9 * np.abs(part)).all(axis=1).any())


def strange(drawing, datasets):
    """Variables drawn that differ from those of their name in any dataset, at their seeds, steps and so on."""
    wrong = []
    for name, values in drawing.data.data_vars.items():
        sources = [data[name] for data in datasets.values() if name in data]
        if sources and not any(_of(values, source) for source in sources):
            wrong.append(name)
    return wrong


def dropped(drawing, datasets):
    """Errors and quality flags that the datasets have of what is drawn, and the drawing lacks; but of a control."""
    drawn = [name for name in drawing.data.data_vars if not name.endswith("prior_only")]
    both = [(name, data) for name in drawn for data in datasets.values() if name in data]
    lost = [(f"{name}_se", data) for name, data in both]
    lost += [("quality", data) for name, data in both if f"{name}_se" in drawn]
    return [f"no {name}" for name, data in lost if name in data and name not in drawing.data]


def _of(values, source):
    """Whether ``values`` are ``source`` at their labels, and at any one of a dim that they know nothing of."""
    at = {dim: np.atleast_1d(values[dim].values) for dim in source.dims if dim in values.coords}
    try:
        kept = source.sel(at)
    except KeyError:
        return False
    unknown = [dim for dim in kept.dims if dim not in at and dim not in values.dims]
    mine = values.expand_dims([dim for dim in at if dim not in values.dims])
    if {*mine.dims, *unknown} != {*kept.dims}:
        return False
    cells = product(*(range(kept.sizes[dim]) for dim in unknown))
    each = (kept.isel(dict(zip(unknown, cell, strict=True))).transpose(*mine.dims).values for cell in cells)
    return any(_equal(mine.values, one) for one in each)


def _equal(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")
