"""What rows of measures share that choose heads by their types."""

from collections.abc import Iterator
from typing import Any

from rllc.analysis.kinds import TYPES
from rllc.study.rows import Work

ROLES = tuple(kind for kind in TYPES if kind != "unknown")


def thresholds(work: Work) -> dict[str, Any]:
    """Of the types of heads, by which a measure chooses heads."""
    return {"thresholds": work.experiment.head_types.model_dump()}


def typed(place: str, work: Work) -> Iterator[str]:
    """Without types of heads nobody knows which heads to choose."""
    if work.experiment.head_types is None:
        yield f"{place}: heads are chosen by their types; give head_types"
