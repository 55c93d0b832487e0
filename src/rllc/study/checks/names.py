"""Names that must refer to something."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rllc.study.section import nearest

if TYPE_CHECKING:
    from rllc.study.study import Experiment


def refer(place: str, name: str, table: Iterable[str], what: str) -> Iterator[str]:
    """A problem where the table has no such name."""
    table = list(table)
    if name not in table:
        yield f"{place}: no {what} is called '{name}'{nearest(name, table)}"


def in_model(place: str, component: str, experiment: Experiment) -> Iterator[str]:
    """A problem where the label is of no component, or of none in the model."""
    model = experiment.model
    for part in component.split("+"):
        match = re.fullmatch(r"(\d+):(\d+)|layer:(\d+)|embedding|full", part)
        if match is None:
            yield f"{place}: '{component}' is none of L:H, L:H+L:H, layer:L, embedding, full"
            return
        layer = match[1] or match[3]
        if (layer and int(layer) >= model.n_layers) or (match[2] and int(match[2]) >= model.n_heads):
            yield f"{place}: '{part}' is not in a model of {model.n_layers} layers x {model.n_heads} heads"
