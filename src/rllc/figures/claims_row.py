"""One row of the table of claims: its texts in lines, its values by seed, its verdict."""

import math
import textwrap
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from rllc.figures.summaries import DOUBTED

# Colours that stay apart under the common colour-vision deficiencies, and a sign for print in grey.
VERDICTS = {
    "holds": ("#0072B2", "✓"),
    "half": ("#B07D00", "◐"),
    "does not": ("#C04A00", "✗"),
    "undecided": ("#9A3D78", "?"),
    "not reached": ("#6E6E6E", "–"),
    "not judged": ("#8C8C8C", "·"),
}
NOT_REACHED, MISSING = -1, -4  # of ``passes``: missing is a seed that the experiment does not have
OF_SEED = {
    1: "holds",
    0: "does not",
    NOT_REACHED: "not reached",
    -2: "undecided",
    -3: "not judged",
}  # by ``passes``
WIDTHS = {
    "claim": 4.6,
    "statistic": 3.35,
    "threshold": 1.05,
    "seed": 0.78,
    "error": 0.45,
    "verdict": 1.15,
    "published": 1.75,
}  # inches
LETTERS, WORDS, THEIRS = 72, 51, 27  # letters of a claim, a statistic and others' value on one line
LINE, PAD = 0.155, 0.11  # inches: a line of text, room in a row
CURVATURE = "curvature alone"
PLAIN = {"fontsize": 8.5, "va": "center"}
BOLD = PLAIN | {"fontweight": "bold"}


class Words(NamedTuple):
    """A claim and its texts in lines, by the column in which they stand."""

    claim: xr.Dataset
    lines: Mapping[str, list[str]]

    @property
    def height(self) -> float:
        """Inches of the row."""
        return LINE * max(1 + curvature_alone(self.claim), *map(len, self.lines.values())) + PAD


def in_lines(claim: xr.Dataset, called: Mapping[str, str], *, theirs: bool) -> Words:
    """``theirs``: whether the table has a column of what others found."""
    lines = {
        "claim": textwrap.wrap(str(claim["text"].item()), LETTERS) or [""],
        "statistic": statistic(claim, called),
    }
    if theirs:
        lines["published"] = textwrap.wrap(str(claim["published"].item()), THEIRS)
    return Words(claim, lines)


def draw_row(ax: Axes, left: float, top: float, words: Words, columns: Mapping[str, float]) -> None:
    """One claim; everything but its texts stands on the row's first line."""
    first, claim, grey = top + PAD / 2 + LINE / 2, words.claim, PLAIN | {"color": "#333333"}
    for name, lines in words.lines.items():
        for n, line in enumerate(lines):
            ax.text(left + columns[name], first + n * LINE, line, **(PLAIN if name == "claim" else grey))
    ax.text(left + columns["threshold"], first, threshold(claim), **grey)
    for seed in claim["seed"].values.tolist():
        one = claim.sel(seed=seed)
        value, passed = float(one["value"]), float(one["passes"])
        if passed == MISSING:
            continue
        known = np.isfinite(value)
        color, sign = VERDICTS[OF_SEED[int(passed)] if known or passed < 0 else "not reached"]
        doubted = "†" if float(one.get("untrusted", 0)) > DOUBTED else ""
        error = float(one.get("value_se", np.nan))
        text = f"{estimate(value, error)}{doubted} {sign}" if known else sign
        ax.text(left + columns[f"seed {seed}"], first, text, **PLAIN, color=color, ha="right")
    badge(ax, left + columns["verdict"], first, str(claim["verdict"].item()))
    if curvature_alone(claim):
        ax.text(left + columns["verdict"], first + LINE, CURVATURE, **(grey | {"fontsize": 7.5}))


def estimate(value: float, error: float) -> str:
    """A value with as many decimals as its error, which has one digit; without an error as it is."""
    if not np.isfinite(error):
        return number(value)
    rounded = float(f"{error:.1g}")
    decimals = max(0, -math.floor(math.log10(rounded))) if rounded else 2
    return f"{value:,.{decimals}f} ± {rounded:,g}"


def curvature_alone(claim: xr.Dataset) -> bool:
    """Whether a decided claim comes to the same by the control without the loss gradient."""
    decided = claim["verdict"].item() in ("holds", "half", "does not")
    return decided and "control_verdict" in claim and bool(claim["control_verdict"] == claim["verdict"])


def badge(ax: Axes, left: float, middle: float, verdict: str) -> None:
    width = WIDTHS["verdict"] - 0.1
    color, sign = VERDICTS.get(verdict, VERDICTS["not reached"])
    rounded = "round,pad=0,rounding_size=0.06"
    corner = (left, middle - 0.085)
    ax.add_patch(FancyBboxPatch(corner, width, 0.17, boxstyle=rounded, facecolor=color, linewidth=0))
    ax.text(left + width / 2, middle, f"{sign}  {verdict}", **BOLD, color="white", ha="center")


def statistic(claim: xr.Dataset, called: Mapping[str, str]) -> list[str]:
    """The statistic in lines of words, and what of the experiment that it is compared with."""
    lines = textwrap.wrap(str(claim["statistic"].item()), WORDS)
    if why := claim["reason"].item() if "reason" in claim else "":
        lines += textwrap.wrap(f"({why})", WORDS)
    versus = claim["versus"].item() if "versus" in claim else ""
    if not versus:
        return lines
    how = claim["comparison"].item() if "comparison" in claim else ""
    sign = {"ratio": "over that of", "difference": "minus that of"}.get(how, "against")
    return [*lines, *textwrap.wrap(f"{sign} {called.get(versus, versus)}", WORDS)]


def threshold(claim: xr.Dataset) -> str:
    """What the statistic has to be: "500 to 1,300", "4", "≥ 0.05", "≤ 12"."""
    low, high = float(claim["at_least"]), float(claim["at_most"])
    if low == high:
        return number(low)
    if np.isfinite(low) and np.isfinite(high):
        return f"{number(low)} to {number(high)}"
    return f"≥ {number(low)}" if np.isfinite(low) else f"≤ {number(high)}" if np.isfinite(high) else ""


def number(value: float) -> str:
    """Three digits, two near 0, four just below 1, whole numbers in full: 0.0512, 0.0054, 0.9987, 1,300."""
    if 0.9 <= value < 1:
        return f"{value:.4g}"
    if abs(value) >= 100 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.01 else f"{value:.2g}"
