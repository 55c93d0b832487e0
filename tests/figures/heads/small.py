"""How tests read which numbers stand in which panel."""

import numpy as np

SEEDS = (0, 1)


def panels(drawing):
    """Title, label of the row and axes of each panel, from left to right and top to bottom."""
    found = [ax for ax in drawing.figure.axes if ax.get_visible() and ax.get_title("left")]
    return [(ax.get_title("left"), ax.get_ylabel(), ax) for ax in found]


def curves(ax, size):
    """The lines of a panel along all steps, in any order; -1 where nothing is measured."""
    return sorted(
        tuple(np.nan_to_num(line.get_ydata(), nan=-1))
        for line in ax.get_lines()
        if len(line.get_xdata()) == size
    )


def along(values, *dims):
    """Curves of an array, one for each label of the other dims."""
    return sorted(
        map(tuple, values.fillna(-1).transpose(..., "step").values.reshape(-1, values.sizes["step"]))
    )
