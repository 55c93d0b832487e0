"""Settings of figures, pages and animations."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rllc.job_settings.functions import NamedFunction


@dataclass(frozen=True)
class Draw:
    """A figure or page: the function that draws it, the files of its datasets, and its options."""

    function: NamedFunction
    datasets: dict[str, Path]
    options: dict[str, Any]


@dataclass(frozen=True)
class Animate(Draw):
    """An animation: the settings of a figure, and frames per second."""

    rate: float
