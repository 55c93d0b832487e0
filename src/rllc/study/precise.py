"""Keys of a section for more contexts, probes or sequences at the checkpoints that conclusions read."""

from collections.abc import Iterator
from typing import Any

from rllc.measures.precise import count_at
from rllc.study.config_model import config_field
from rllc.study.specs import EXTENT, Work
from rllc.study.steps import steps


def precise_field(units: str) -> Any:
    """Return the field of the key ``precise`` of a section that counts ``units``."""
    return config_field(
        f"{units} at the checkpoints of precise_at, if that is more; null: as many as elsewhere",
        ge=2,
        default=None,
    )


def precise_at_field() -> Any:
    """Return the field of the key ``precise_at``."""
    return config_field(
        "the checkpoints that conclusions read; null: the last", unit="steps", min_length=1, default=None
    )


def precise_steps(work: Work[Any]) -> list[int]:
    """Return the steps that are measured on more; none if the section does not ask for more."""
    if work.section.precise is None:
        return []
    return work.section.precise_at or steps(work.experiment)[-1:]


def keywords(work: Work[Any]) -> dict[str, Any]:
    """Return the keywords of a kernel: those of the section, and the steps that ``precise`` is for.

    They are the same for all chunks of checkpoints. An extended training moves the last checkpoint, so the
    measure then runs again.
    """
    made = work.section.model_dump(exclude=EXTENT | {"precise", "precise_at"})
    if not (at := precise_steps(work)):
        return made
    return made | {"precise": work.section.precise, "precise_at": at}


def units(work: Work[Any], each: int) -> list[int]:
    """Return the number of units at every checkpoint of a job: ``each``, or as ``precise`` says."""
    at = precise_steps(work)
    return [count_at(step, each, work.section.precise, at) for step in work.steps]


def known_steps(place: str, work: Work[Any]) -> Iterator[str]:
    """Yield a problem for steps of ``precise_at`` at which the experiment has no checkpoint."""
    if not (asked := work.section.precise_at):
        return
    if absent := sorted({*asked} - {*steps(work.experiment)}):
        named = ", ".join(map(str, absent))
        yield f"{place}.precise_at: no checkpoint at step {named}; name checkpoints, or null for the last"
