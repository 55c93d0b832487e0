"""Types of the arguments and results of figure functions, and the writing of a drawing.

Options with one meaning everywhere: ``distribution``, ``seed`` and ``seeds`` (their defaults stand with the
types below), ``title`` (what the experiment is called), ``setting`` (a sampling setting). Where dataset
``attention_scores`` is optional, it gives the types of heads.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
NAN = float("nan")


class Finding(NamedTuple):
    """One number that a figure shows.

    label  complete name of the number: quantity, head, text and step
    error  standard error; NaN: unknown. If ``label`` ends in "mean and sd of N seeds", the seeds' sd
    unit   "1" for a plain number, "%" for a share, whose ``value`` is in per cent
    """

    label: str
    value: float
    error: float = NAN
    unit: str = "1"

    def __str__(self) -> str:
        unit = "" if self.unit == "1" else f" {self.unit}"
        return f"{self.label}: {rounded(self.value, self.error)}{unit}"


@dataclass(frozen=True)
class Drawing:
    """A finished figure.

    figure      the matplotlib Figure, not bound to any window
    data        the data drawn, and nothing else
    title       the content in one sentence
    findings    the numbers that a reader should remember, at most eight; each computed from ``data``
    conditions  sentences on how the numbers were made, without which they would be misread
    """

    figure: Figure
    data: xr.Dataset
    title: str
    findings: Sequence[Finding] = ()
    conditions: Sequence[str] = ()

    @property
    def caption(self) -> str:
        """Return title, findings and conditions, one below the other."""
        return "\n".join(
            [self.title, *(f"- {each}" for each in self.findings), *filter(None, self.conditions)]
        )


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


def rounded(value: float, error: float = NAN) -> str:
    """Return a value with as many decimals as its error, which has two digits below 3 and one above.

    Without an error the value has three digits, whole numbers all of theirs: "1,342", "0.512", "3.33 ± 0.07".
    """
    if not math.isfinite(value):
        return "none"
    if not math.isfinite(error) or error <= 1e-12 * abs(value):
        whole = value == round(value) or abs(value) >= 1000
        return f"{value:,.0f}" if whole else f"{value:.3g}"
    exponent = math.floor(math.log10(error))
    digits = 2 if error / 10**exponent < 3 else 1
    decimals = max(0, digits - 1 - exponent)
    return f"{value:,.{decimals}f} ± {error:,.{decimals}f}"


def save(drawing: Drawing, *, png: str | Path | None = None, pdf: str | Path | None = None) -> None:
    """Write the figure. Equal data gives equal bytes (no date, no version). Both files share one layout."""
    with rc_context(RC):
        if png is not None:
            drawing.figure.savefig(png, format="png", metadata={"Software": None})
            drawing.figure.set_layout_engine("none")
        if pdf is not None:
            drawing.figure.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None})


def headed(experiment: str, title: str) -> str:
    """Return the title, which begins with a capital or with the experiment's name."""
    return f"{experiment}: {title}" if experiment else f"{title[:1].upper()}{title[1:]}"
