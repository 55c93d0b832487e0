"""Settings of trainings and of imports of checkpoints."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rllc.job_settings.compute import Compute
from rllc.job_settings.functions import NamedFunction


@dataclass(frozen=True)
class Train:
    """One segment of a training.

    experiment  name of the experiment
    family      function that builds the model from the facts ``model``
    generator   function that makes minibatches; None: they are read from blocks
    initial     keywords of the family's initial weights
    training    keywords of ``rllc.models.training.train``
    batch_size  contexts per step
    chunk       steps whose checkpoints are kept
    length      steps of the training; with a constant learning rate the last step of the chunk, so that a
                longer training runs no earlier segment again
    context     tokens of a context
    stream      random stream of the seed
    """

    experiment: str
    family: NamedFunction
    generator: NamedFunction | None
    model: dict[str, Any]
    initial: dict[str, Any]
    training: dict[str, Any]
    batch_size: int
    compute: Compute
    chunk: list[int]
    length: int
    context: int
    stream: int


@dataclass(frozen=True)
class TrainingLoss:
    """Manifests of the last chunk of checkpoints, by seed, and the unit of the losses."""

    checkpoints: dict[int, Path]
    unit: str


@dataclass(frozen=True)
class ImportCheckpoints:
    """One chunk of steps from a folder of state dicts, and the facts of their model."""

    folder: Path
    model: dict[str, Any]
    chunk: list[int]


@dataclass(frozen=True)
class RegisterCheckpoints:
    """One chunk of checkpoints of Hugging Face.

    folders     step -> folder of the checkpoint
    model       facts of the model
    heads       number of heads or groups that the config gives; 0: no head is sampled
    components  labels of the other components that are sampled
    """

    folders: dict[int, Path]
    model: dict[str, Any]
    heads: int
    components: list[str]


@dataclass(frozen=True)
class ListComponents:
    """The models of a study.

    families  experiment -> function that builds its model
    models    experiment -> facts of its model
    """

    families: dict[str, NamedFunction]
    models: dict[str, dict[str, Any]]
