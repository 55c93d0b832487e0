"""Figures, pages and animations."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rllc.job_settings.functions import NamedFunction


@dataclass(frozen=True)
class Draw:
    """What draws a figure or writes a page, the datasets that it reads, and its own options."""

    function: NamedFunction
    datasets: dict[str, Path]
    options: dict[str, Any]


@dataclass(frozen=True)
class Animate(Draw):
    """The same of an animation, and its frames per second."""

    rate: float
