"""The estimator on models whose answer is known."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Validate:
    """One family of models.

    keywords  keyword arguments of the family's function in ``rllc.validation``
    """

    keywords: dict[str, Any]
    stream: int
