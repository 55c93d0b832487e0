"""The estimator on models whose answer is known."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Validate:
    """One family of models.

    keywords  of the family's function in ``rllc.validation``, which each has of its own
    """

    keywords: dict[str, Any]
    stream: int
