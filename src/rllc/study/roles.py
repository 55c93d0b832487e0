"""Types of heads, and what specs of measures share that choose heads by type."""

from collections.abc import Iterator
from typing import Any

from rllc.analysis.kinds import TYPES
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.specs import Work
from rllc.study.values import Share

ROLES = tuple(kind for kind in TYPES if kind != "unknown")


class HeadTypes(ConfigModel):
    """From which score on, at the last checkpoint, a head is called what it is."""

    previous_token: Share = config_field("mean attention to the previous token")
    current_token: Share = config_field("mean attention to the current token")
    prefix_matching: Share = config_field(
        "induction heads: mean attention to the token after an earlier occurrence of the current one"
    )


def thresholds(work: Work[ConfigModel]) -> dict[str, Any]:
    """Return the thresholds of the types of heads, by which a measure chooses heads."""
    return {"thresholds": work.experiment.need(HeadTypes).model_dump()}


def typed(place: str, work: Work[ConfigModel]) -> Iterator[str]:
    """Yield a problem without types of heads: nobody knows then which heads to choose."""
    if work.experiment.get(HeadTypes) is None:
        yield f"{place}: heads are chosen by their types; give head_types"
