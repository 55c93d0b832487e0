"""Settings of the validation: the estimator on models with a known answer."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Validate:
    """One family of models.

    keywords  keyword arguments of the family's function in ``rllc.validation``
    """

    keywords: dict[str, Any]
    stream: int
