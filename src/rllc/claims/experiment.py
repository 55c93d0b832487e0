"""Facts about an experiment that claims read besides its curves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Experiment:
    """Facts about an experiment that a claim may read besides its curves.

    text      the distribution that it is trained on, as "mixture"; its first one, where that is not measured
    code      the distribution of code that heads are compared on; None: there is none
    setting   the sampling setting by which stages are told; "sampling": the base setting
    steps     length of the training
    shortest  length of the shortest training of its task; 0: its own
    settings  keywords of the analyses that claims repeat, by name
    """

    name: str
    task: str
    layers: int = 1
    label: str = ""
    text: str = ""
    code: str | None = None
    setting: str = "sampling"
    steps: int = 0
    shortest: int = 0
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
