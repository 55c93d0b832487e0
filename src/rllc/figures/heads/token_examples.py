"""Examples of tokens in context, each in a grid of letters."""

import xarray as xr
from matplotlib.axes import Axes

from rllc.figures.excerpt import Example, examples, level, shown, visible
from rllc.figures.letters import COLUMNS, LINES, Letter, legible, write

ORANGES = ("#ffffff", "#fdecd9", "#fbd3a6", "#f7b469", "#ee8f2f", "#cc6a00")
BLUE = "#0b4f9e"


def examples_of(one: xr.Dataset, pattern: str) -> list[Example]:
    """Return three examples of a pattern, or of any pattern where it has none."""
    every = examples(one)
    return [example for example in every if example.pattern == pattern][:3] or every[:3]


def write_example(ax: Axes, example: Example, left: float, top: float) -> None:
    """Write one example in a grid of letters, with the rise in loss above it."""
    ax.text(left, top, f"+{example.rise:.1f} nats", fontsize=6.5, color="#555555", va="center")
    cells = []
    for place in _tail(example):
        text = " … " if place is None else visible(example.text[place])
        cells += [Letter(c, *_look(example, place)) for c in legible(text)]
    write(ax, cells[-COLUMNS * LINES :], left, top + 0.12)


def _look(example: Example, place: int | None) -> tuple[str, str | None, bool]:
    """Return the colour of a token, that of its background, and whether it is underlined."""
    if place is None or place > example.target:
        return "#8a8a8a", None, False
    if place == example.target:
        return "white", BLUE, place == example.attended
    step = level(float(example.attention[place]))
    return "black", ORANGES[step] if step else None, place == example.attended


def _tail(example: Example) -> list[int | None]:
    """Return the target, the tokens that must be seen, and as many before the target as the lines hold."""
    room = COLUMNS * LINES
    row = shown(example, room)
    while room > 10 and _letters(example, row) > COLUMNS * LINES:
        room -= 10
        row = shown(example, room)
    return row


def _letters(example: Example, row: list[int | None]) -> int:
    """Return the number of letters that the places of a row take."""
    return sum(3 if place is None else len(visible(example.text[place])) for place in row)
