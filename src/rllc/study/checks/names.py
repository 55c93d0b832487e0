"""Names that must refer to something."""

from collections.abc import Iterable, Iterator

from rllc.study.config_model import Problem, nearest
from rllc.study.families import family_of
from rllc.study.setup import Setup


def refer(place: str, name: str, table: Iterable[str], what: str) -> Iterator[str]:
    """Yield a problem if the table has no such name."""
    table = list(table)
    if name not in table:
        yield Problem(f"{place}: no {what} is called '{name}'{nearest(name, table)}", "unknown_name")


def in_model(place: str, component: str, experiment: Setup) -> Iterator[str]:
    """Yield a problem if the label names no component of the model."""
    if problem := family_of(experiment.model).check_component(experiment.model, component):
        yield f"{place}: {problem}"
