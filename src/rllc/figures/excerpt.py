"""Text of a token in context: the part of the context to show, and signs for invisible characters."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

AROUND = 3  # tokens shown on each side of the matched ones
AFTER = 4  # tokens shown behind the target
SHOWN = str.maketrans({"\n": "↵", "\t": "⇥"})


class Example(NamedTuple):
    """An example of a head: a token in context with its explanation.

    text       the text of every token of the context
    attention  of the head at ``position`` to each
    """

    rank: int
    rise: float
    pattern: str
    context: int
    position: int
    attended: int
    matched: int
    text: list[str]
    attention: np.ndarray

    @property
    def target(self) -> int:
        """Return the position of the predicted token."""
        return self.position + 1


def examples(one: xr.Dataset) -> list[Example]:
    """Return the examples of one head at one step, the most affected first.

    one  a dataset of tokens in context without the dims seed, step and head
    """
    patterns, words = one["pattern"].values.tolist(), one["text"].values
    made = []
    for place, rank in enumerate(np.nan_to_num(one["shown_rank"].values, nan=-1).astype(int).tolist()):
        if rank < 0:
            continue
        facts = {n: int(one[n][rank]) for n in ("context", "position", "attended", "matched")}
        text = [str(words[token]) for token in one["shown_token"].values[place].astype(int)]
        pattern = patterns[int(one["pattern_index"][rank])]
        row = one["attention"].values[place]
        made.append(Example(rank, float(one["rise"][rank]), pattern, **facts, text=text, attention=row))
    return sorted(made, key=lambda example: example.rank)


def shown(example: Example, room: int) -> list[int | None]:
    """Places of the context to show: some ``room`` characters up to the target, what is attended to and
    matched with tokens around it, and a little behind the target; None where something is left out."""
    places = set(range(example.target, min(example.target + 1 + AFTER, len(example.text))))
    place = example.position
    while place >= 0 and room > 0:
        places.add(place)
        room -= len(example.text[place])
        place -= 1
    for centre in (example.attended, example.matched):
        if 0 <= centre < example.target:
            places |= set(range(max(0, centre - AROUND), min(centre + AROUND + 1, example.target)))
    ordered = sorted(places)
    row: list[int | None] = [] if ordered[0] == 0 else [None]
    for before, now in zip([None, *ordered], ordered, strict=False):
        if before is not None and now > before + 1:
            row.append(None)
        row.append(now)
    return row if ordered[-1] == len(example.text) - 1 else [*row, None]


def level(weight: float) -> int:
    """Return the colour step of an attention weight: 0 (below 2 %) to 5 (from 80 % on)."""
    return int(np.searchsorted((0.02, 0.1, 0.25, 0.5, 0.8), weight, side="right"))


def visible(text: str) -> str:
    """Return the text with signs for line ends and tabs."""
    return text.translate(SHOWN)


def one_line(forms: Sequence[str]) -> str:
    """Return the forms of a pattern in one line, each in quotation marks, with dots for several spaces."""
    return ", ".join(f"“{visible(form).replace('  ', '··')}”" for form in forms if form)
