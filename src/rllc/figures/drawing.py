"""What every figure function takes and returns, and how a drawing is written.

Options with one meaning everywhere: ``distribution``, ``seed`` and ``seeds`` (their defaults stand with the
types below), ``title`` (what the experiment is called), ``setting`` (a sampling setting). Dataset ``heads``,
where it is optional, says the types of heads.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import xarray as xr
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from rllc.figures.style import RC

Datasets = Mapping[str, xr.Dataset]  # by name, as "rllc" or "rllc.likelihood"
Name = str | None  # a distribution; None: "mixture", or the dataset's first
Names = Sequence[str] | None  # distributions; None: a function's default
Seed = int | None  # a training seed; None: the first
Seeds = Sequence[int] | None  # training seeds; None: all


class Drawing(NamedTuple):
    """A finished figure.

    figure   the matplotlib Figure, not bound to any window
    data     what is drawn, and nothing else
    caption  plain text of some 120 words; its numbers are computed from ``data``
    details  what a caption has no room for; it goes into the attributes of the dataset drawn
    """

    figure: Figure
    data: xr.Dataset
    caption: str
    details: str = ""


class Animation(NamedTuple):
    """A figure that changes from frame to frame.

    figure   laid out once; only what ``show`` returns changes
    frames   how many there are
    show     changes the figure to a frame, from 0, and returns the artists that changed, lowest first
    caption  plain text
    """

    figure: Figure
    frames: int
    show: Callable[[int], Sequence[Artist]]
    caption: str


def save(drawing: Drawing, *, png: str | Path | None = None, pdf: str | Path | None = None) -> None:
    """Write the figure; equal data gives equal bytes (no date, no version), one layout serves both files."""
    with rc_context(RC):
        if png is not None:
            drawing.figure.savefig(png, format="png", metadata={"Software": None})
            drawing.figure.set_layout_engine("none")
        if pdf is not None:
            drawing.figure.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None})
