"""Line properties of clusters of heads, and the labels of their heads above a panel."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath

from rllc.figures import style

SIZE, LINE, GAP = 6.0, 9.0, 3.5  # points: size of labels, distance of lines, space between labels
SPARE = 0.2  # inches of a panel outside its axes


def look_of(cluster: int) -> dict:
    """Return line properties of a cluster: colour, and for print in grey also dash and marker."""
    if cluster < 0:
        return {"color": "#c4c4c4", "linestyle": "-", "linewidth": 1.0}
    look = style.numbered(cluster, style.CLUSTER_COLORS[cluster % len(style.CLUSTER_COLORS)])
    return look | {"markersize": 3.5, "markevery": 0.15, "linewidth": 1.2}


def cluster_keys(cluster: xr.DataArray) -> list[Line2D]:
    """Return legend entries of clusters, and of heads without a cluster if there are any."""
    keys = [style.key(f"cluster {i + 1}", **look_of(i)) for i in range(int(cluster.max()) + 1)]
    return [*keys, *([style.key("not clustered", **look_of(-1))] if (cluster < 0).any() else [])]


def name_clusters(
    ax: Axes, *, cluster: xr.DataArray, note: str, width: float, look: dict[str, float]
) -> None:
    """Write the heads of each cluster above the panel, separated by bars, and a note beside the title.

    width  of the panel, inches
    look   of the title
    """
    placed, lines = _words(cluster, width)
    for x, line, word, color in placed:
        at = (x, 3 + LINE * (lines - 1 - line))
        ax.annotate(
            word,
            (0, 1),
            at,
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=SIZE,
            fontweight="bold",
            color=color,
        )
    ax.set_title(note, loc="right", fontsize=7, pad=look["pad"])


def title_look(clusterings: Sequence[xr.DataArray], *, width: float) -> dict[str, float]:
    """Return properties of panel titles that leave room for the labels of the heads of each cluster."""
    return {"fontsize": 8, "pad": 5 + LINE * max(_words(each, width)[1] for each in clusterings)}


def groups(cluster: xr.DataArray) -> dict[int, list[str]]:
    """Return the heads of each cluster. Heads without a cluster are left out."""
    indices = [index for index in np.unique(cluster.values).tolist() if index >= 0]
    return {index: cluster["head"].values[cluster.values == index].tolist() for index in indices}


def _words(cluster: xr.DataArray, width: float) -> tuple[list[tuple[float, int, str, str]], int]:
    """Return labels above a panel as (points from its left, line, word, colour), and the number of lines."""
    placed: list[tuple[float, int, str, str]] = []
    x, line = 0.0, 0
    for index, heads in groups(cluster).items():
        color = look_of(index)["color"]
        for n, head in enumerate(heads):
            bar = [("|", "#333333")] if placed and n == 0 else []
            words = [*bar, (head, color)]
            needed = sum(_points(word) for word, _ in words) + GAP * len(bar)
            if x and x + needed > 72 * (width - SPARE):
                x, line = 0.0, line + 1
            for word, each in words:
                placed.append((x, line, word, each))
                x += _points(word) + GAP
    return placed, line + 1


@cache
def _points(word: str) -> float:
    """Return the width of a label in points."""
    return TextPath((0, 0), word, size=SIZE, prop=FontProperties(weight="bold")).get_extents().width
