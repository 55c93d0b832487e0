"""Text in a figure, in a grid of letters of one width."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

COLUMNS, LINES = 44, 7  # letters and lines of a passage
WIDTH, HEIGHT = 0.0755, 0.165  # inches of a letter
GAP = 0.012  # inches


class Letter(NamedTuple):
    """A letter, its colour, its background (None: none), an underline, and a gap before it."""

    text: str
    ink: str = "black"
    paper: str | None = None
    underlined: bool = False
    apart: bool = False


def legible(text: str) -> str:
    """Return the text with a box for every letter that fonts may lack, or that is wider than others."""
    return "".join(c if c.isprintable() and ord(c) < 0x3000 else "□" for c in text)


def write(ax: Axes, letters: Sequence[Letter], left: float, top: float) -> None:
    """Write the letters line by line. ``left`` and ``top`` are in inches, the units of the axes."""
    for n, each in enumerate(letters):
        row, column = divmod(n, COLUMNS)
        x, y = left + column * WIDTH, top + row * HEIGHT
        if each.paper:
            gap = GAP if each.apart else 0.0
            width, corner = WIDTH * 1.02 - gap, (x + gap, y)
            ax.add_patch(Rectangle(corner, width, HEIGHT * 0.92, facecolor=each.paper, linewidth=0))
        if each.underlined:
            ax.plot(
                [x, x + WIDTH], [y + HEIGHT * 0.9] * 2, color="black", linewidth=1.0, solid_capstyle="butt"
            )
        look = {
            "fontfamily": "DejaVu Sans Mono",
            "fontsize": 6.9,
            "color": each.ink,
            "ha": "center",
            "va": "center",
        }
        if each.text != " ":
            ax.text(x + WIDTH / 2, y + HEIGHT * 0.46, each.text, **look)
