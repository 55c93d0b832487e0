"""Types of heads, and what specs of measures share that choose heads by type."""

from collections.abc import Iterator
from typing import Any

from rllc.analysis.kinds import THRESHOLDS, TYPES
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.specs import Work
from rllc.study.values import RLLC, Share

ROLES = tuple(kind for kind in TYPES if kind != "unknown")


class HeadTypes(ConfigModel):
    """From which score on, at the last checkpoint, a head is called what it is.

    The paper prints no thresholds. The defaults lie just below the lowest scores of its heads.
    """

    previous_token: Share = config_field(
        "mean attention to the previous token; the published previous-token heads have 0.289 and 0.225",
        source=f"ours; the scores are those of {RLLC} at the end of training",
        default=THRESHOLDS["previous_token"],
    )
    current_token: Share = config_field(
        "mean attention to the current token; as for the previous token",
        source="ours",
        default=THRESHOLDS["current_token"],
    )
    prefix_matching: Share = config_field(
        "induction heads: mean attention to the token after an earlier occurrence of the current one; "
        "the published heads have 0.055 and 0.079",
        source=f"ours; the scores are those of {RLLC} at the end of training",
        default=THRESHOLDS["prefix_matching"],
    )


def thresholds(work: Work[ConfigModel]) -> dict[str, Any]:
    """Return the thresholds of the types of heads, by which a measure chooses heads."""
    return {"thresholds": work.experiment.need(HeadTypes).model_dump()}


def typed(place: str, work: Work[ConfigModel]) -> Iterator[str]:
    """Yield a problem without types of heads: nobody knows then which heads to choose."""
    if work.experiment.get(HeadTypes) is None:
        yield f"{place}: heads are chosen by their types; give head_types"
