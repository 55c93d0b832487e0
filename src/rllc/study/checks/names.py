"""Names that must refer to something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rllc.study.families import family_of
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
    if problem := family_of(experiment.model).misnamed(experiment.model, component):
        yield f"{place}: {problem}"
