"""The toy potentials of the validation as landscapes (arXiv 2402.02364, Fig. 2)."""

from functools import partial
from itertools import pairwise

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from rllc.figures import style
from rllc.figures.drawing import Datasets, Drawing, Finding
from rllc.figures.findings import known
from rllc.figures.inputs import need
from rllc.figures.panels import Panel, Row, chunks, sheet
from rllc.validation.truths.potentials import POTENTIALS

ACROSS = 4  # panels in a row
POINTS = 161  # of each coordinate
REACH = 1.0  # distance from the centre to every side
LEVELS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of the loss at which the colour changes


@style.styled
def validation_landscapes(datasets: Datasets) -> Drawing:
    """Toy potentials of two coordinates as landscapes around the centre, with their learning coefficients."""
    data = need(datasets, "potentials", "coefficient")
    names = [name for name in data["potential"].values.tolist() if len(POTENTIALS[name].center) == 2]
    if not names:
        raise ValueError("potentials.nc has no potential of two coordinates: add sum_4_4 to its names")
    one = data[["coefficient"]].sel(potential=names)
    one = one.max([dim for dim in one["coefficient"].dims if dim != "potential"]).sortby("coefficient", False)
    offset = np.linspace(-REACH, REACH, POINTS)
    losses = [_landscape(name, offset) for name in one["potential"].values.tolist()]
    dims = ("potential", "offset_1", "offset_2")
    drawn = one.assign(loss=(dims, np.stack(losses))).assign_coords(offset_1=offset, offset_2=offset)
    panels = []
    for name in drawn["potential"].values.tolist():
        cell = drawn.sel(potential=name)
        title = f"{cell['label'].item()}\nλ = {float(cell['coefficient']):.3g}"
        over = partial(_contours, loss=cell["loss"])
        panels.append(Panel(title, look={"fontsize": 7.5}, over=over, x="$w_1$ − centre"))
    ends = [f"{level:g}" for level in LEVELS]
    words = [f"below {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends))]
    keys = [
        Patch(color=color, label=word)
        for word, color in zip([*words, f"above {ends[-1]}"], _colors(), strict=True)
    ]
    rows = [Row("$w_2$ − centre", each) for each in chunks(panels, ACROSS)]
    rows[0] = rows[0]._replace(keys=keys, heading="loss")
    figure, _ = sheet(rows, panel=(2.1, 2.0), margin=1.2)
    return Drawing(
        figure,
        drawn,
        "Toy potentials of two coordinates as landscapes, with their learning coefficients λ.",
        known(
            [
                Finding(f"share of the square with a loss below {LEVELS[1]:g}, {name}", _low(loss), unit="%")
                for name, loss in zip(one["potential"].values.tolist(), losses, strict=True)
            ]
        ),
        [f"Squares of {2 * REACH:g} by {2 * REACH:g} around the centre of each potential."],
    )


def _landscape(name: str, offset: np.ndarray) -> np.ndarray:
    """Return the loss at all pairs of offsets from the centre: [w1, w2]."""
    potential = POTENTIALS[name]
    first, second = (center + offset for center in potential.center)
    return np.asarray(potential.value(*np.meshgrid(first, second, indexing="ij")))


def _low(loss: np.ndarray) -> float:
    return 100 * float((loss < LEVELS[1]).mean())


def _colors() -> list:
    """Return a colour for each range of the loss, dark where it is low."""
    return style.shades(len(LEVELS) + 1)


def _contours(ax: Axes, *, loss: xr.DataArray) -> None:
    ends = [-np.inf, *LEVELS, np.inf]
    ax.contourf(loss["offset_1"], loss["offset_2"], loss.values.T, levels=ends, colors=_colors())
    ax.set_aspect("equal")
    ax.grid(False)
