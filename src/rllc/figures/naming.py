"""Place labels at line ends and beside points without overlap.

Call these functions last: they need the final layout.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

SIZE = 7.0
GAP = 5.0  # points between a label and its line or point
SIDES = {-1: "right", 0: "center", 1: "left"}
HEIGHTS = {-1: "top", 0: "center", 1: "bottom"}
AROUND = [  # places near and then far: offset to the right, offset upwards, corner of the label at that place
    (far * across, far * up, SIDES[across], HEIGHTS[up])
    for far in (0.8 * GAP, 2 * GAP, 3.2 * GAP)
    for across, up in ((1, 1), (1, 0), (1, -1), (0, 1), (0, -1), (-1, 1), (-1, 0), (-1, -1))
]


class Named(NamedTuple):
    """A label, the position of its line end or point (in the axes' data), and its colour."""

    name: str
    x: float
    y: float
    color: Any


def at_ends(ax: Axes, ends: Sequence[Named]) -> None:
    """Place labels to the right of the last points of lines. Labels that would overlap are moved apart."""
    known = sorted((end for end in ends if np.isfinite(end.y)), key=lambda end: end.y)
    if not known:
        return
    pixels = _settled(ax)
    aim = ax.transData.transform([(end.x, end.y) for end in known])[:, 1]
    for end, shift in zip(known, apart(aim, 1.2 * SIZE * pixels) - aim, strict=True):
        _write(ax, end, (GAP, shift / pixels, "left", "center"))


def apart(aim: np.ndarray, least: float) -> np.ndarray:
    """Return the places nearest to ``aim`` (ascending, least squares) whose neighbours are ``least`` apart.

    After subtracting ``least`` for each earlier place, this is isotonic regression, solved by pooling
    neighbours.
    """
    before, blocks = least * np.arange(aim.size), []
    for value in aim - before:
        blocks.append([value])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return np.concatenate([np.full(len(block), np.mean(block)) for block in blocks]) + before


def beside_points(ax: Axes, points: Sequence[Named], *, reach: float = 3.5) -> None:
    """Place labels beside points, each at the place of ``AROUND`` where it covers least (first of equals).

    reach  points from the middle of a point's mark to its edge
    """
    known = [point for point in points if np.isfinite(point.x + point.y)]
    if not known:
        return
    edge = reach * _settled(ax)
    middles = ax.transData.transform([(point.x, point.y) for point in known])
    taken = [Bbox.from_extents(*(middle - edge), *(middle + edge)) for middle in middles]
    inside = ax.get_window_extent()
    for point in known:
        tried = [_write(ax, point, place) for place in AROUND]
        boxes = [text.get_window_extent() for text in tried]
        covered = [
            sum(_common(box, other) for other in taken) + box.width * box.height - _common(box, inside)
            for box in boxes
        ]
        best = int(np.argmin(covered))
        for text in (*tried[:best], *tried[best + 1 :]):
            text.remove()
        tried[best].set_in_layout(False)
        taken.append(boxes[best])


def _settled(ax: Axes) -> float:
    """Lay the figure out, and return its pixels per point."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    return figure.dpi / 72


def _write(ax: Axes, one: Named, place: tuple[float, float, str, str]) -> Annotation:
    across, up, ha, va = place
    return ax.annotate(
        one.name, (one.x, one.y), xytext=(across, up), textcoords="offset points", ha=ha, va=va,
        fontsize=SIZE, color=one.color,
    )  # fmt: skip


def _common(one: Bbox, other: Bbox) -> float:
    """Return the area of the overlap of two boxes."""
    both = Bbox.intersection(one, other)
    return both.width * both.height if both is not None else 0.0
