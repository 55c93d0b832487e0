"""Settings of jobs that make datasets from parts or from other datasets."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rllc.job_settings.functions import NamedFunction


@dataclass(frozen=True)
class Gather:
    """One dataset, gathered from its parts.

    parts      all parts, or the finished ones
    labels     distribution -> its name in figures, in config order
    variables  name -> long name, unit, dims, and when it exists; empty: variables keep their attributes
    freedom    standard error -> its degrees of freedom, where it is over as many units as the config says
    precise    standard error -> the same at the steps ``precise_at``, where it is over more units
    precise_at  steps
    traces     keep only the losses of every draw
    finish     function that returns variables to add to the whole dataset; None: nothing is added
    keywords   config section -> keyword arguments of ``finish``
    whole      labels of the whole dataset if parts may be missing; empty: no part is missing
    """

    parts: list[Path]
    labels: dict[str, str]
    variables: dict[str, tuple[str, str, list[str], str]]
    freedom: dict[str, int]
    traces: bool
    finish: NamedFunction | None
    keywords: dict[str, dict[str, Any]]
    whole: dict[str, list[Any]]
    precise: dict[str, int] = field(default_factory=dict)
    precise_at: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Analyse:
    """A dataset made from other datasets of its experiment.

    analysis   function that makes the dataset
    datasets   name -> file of each dataset that it reads
    keywords   keyword arguments of the analysis
    attribute  name under which results record the keywords
    words      long name and unit of the variables that the analysis does not describe itself
    """

    analysis: NamedFunction
    datasets: dict[str, Path]
    keywords: dict[str, Any]
    attribute: str
    words: dict[str, tuple[str, str]]
    stream: int


@dataclass(frozen=True)
class Judge:
    """The claims of published works, and of the user's own files, on experiments.

    works        names of the works
    own          the user's files of claims
    experiments  name -> keywords of ``rllc.claims.Experiment``
    datasets     experiment -> its datasets
    """

    works: list[str]
    own: list[Path]
    experiments: dict[str, dict[str, Any]]
    datasets: dict[str, dict[str, Path]]
