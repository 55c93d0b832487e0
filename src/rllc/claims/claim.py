"""Claims: the decorator that puts a text, a source and bounds on a function of a run."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from rllc.claims.experiment import Experiment

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from rllc.claims.run import Run

EVERY_RUN = 3  # training seeds by which a claim on every run can hold, fixed before results
Function = TypeVar("Function", bound="Callable[[Run], xr.DataArray | float]")


@dataclass(frozen=True)
class Statistic:
    """A number of a run: the function that reads it off the curves, its name, label and unit."""

    function: Callable[[Run], xr.DataArray | float]
    label: str
    unit: str = "1"

    @property
    def name(self) -> str:
        return self.function.__name__


@dataclass(frozen=True)
class Claim:
    """What someone says of an experiment, and from which value of a statistic on it holds.

    Bounds include themselves. Keywords of ``claim`` explain the rest.
    """

    name: str
    text: str
    source: str
    statistic: Statistic
    at_least: float | None = None
    at_most: float | None = None
    experiment: str = "*"
    where: Callable[[Experiment], bool] | None = None
    versus: str | None = None
    ratio: bool = False
    given: str | None = None
    published: str = ""
    reached: int = 0
    correction: str = ""
    family: str = ""
    shuffle: bool = True
    by_chance: Callable[[Run, np.random.Generator], float] | None = None
    seeds: int = 1
    work: str = ""

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest value that pass, infinite where there is none."""
        low = float("-inf") if self.at_least is None else self.at_least
        return low, float("inf") if self.at_most is None else self.at_most

    def applies(self, experiment: Experiment) -> bool:
        """Whether the claim is about this experiment."""
        return fnmatchcase(experiment.name, self.experiment) and (
            self.where is None or self.where(experiment)
        )


def claim(
    text: str,
    *,
    source: str,
    label: str = "",
    unit: str = "1",
    name: str = "",
    at_least: float | None = None,
    at_most: float | None = None,
    experiment: str = "*",
    where: Callable[[Experiment], bool] | None = None,
    versus: str | None = None,
    ratio: bool = False,
    given: str | None = None,
    published: str = "",
    reached: int = 0,
    correction: str = "",
    family: str = "",
    shuffle: bool = True,
    by_chance: Callable[[Run, np.random.Generator], float] | None = None,
    seeds: int = 1,
) -> Callable[[Function], Function]:
    """Put a claim on a function that gives its number for one run; several may stand on one function.

    text        the claim, in one's own words
    source      who claims it, and where
    label       what the number is, for tables; needed once per function
    unit        of the number
    name        of the claim; default the function's
    at_least    least value that passes; ``at_most``: largest. One of them at least
    experiment  name of the experiments that it is about, or a pattern as in a shell
    where       which of these it is about
    versus      name of another experiment whose mean over seeds is subtracted, or with ``ratio`` divides
    given       name of a claim that this one presupposes: undecided in a seed in which that does not pass.
                It is about the same experiment, or about that of ``versus``
    published   what the claimants' own data give, in words
    reached     step that the claim speaks of: shorter trainings are not judged
    correction  how the claim departs from the one that was fixed before results, and why
    family      under which it stands in tables; default the label of its experiment
    shuffle     whether the types of heads that it reads are shuffled to see how often chance passes; False
                where it does not speak of types
    by_chance   gives the number in a random order of something else than types of heads. The share of such
                numbers that pass is the chance level. Not with ``versus``
    seeds       fewest training seeds by which it can hold. A claim on every run needs several; one seed
                that fails refutes it

    Raises ValueError where bounds are missing or contradict each other.
    """
    place = f"claim {text!r}"
    if at_least is None and at_most is None:
        raise ValueError(f"{place}: without bounds it always holds; give at_least, at_most, or both")
    if at_least is not None and at_most is not None and at_least > at_most:
        raise ValueError(f"{place}: no value is at least {at_least:g} and at most {at_most:g}")
    if ratio and versus is None:
        raise ValueError(f"{place}: ratio divides by the mean of another experiment; give versus")
    if by_chance is not None and versus is not None:
        raise ValueError(f"{place}: by_chance is of one experiment; leave out versus or by_chance")
    if seeds < 1:
        raise ValueError(f"{place}: it cannot hold by {seeds} seeds; give seeds=1 or more")
    if not text or not source:
        raise ValueError(f"{place}: give the claim in words, and its source")

    def put(function: Function) -> Function:
        statistic = _statistic(function, label, unit)
        made = Claim(
            name or function.__name__, text, source, statistic, at_least, at_most, experiment, where, versus,
            ratio, given, published, reached, correction, family, shuffle, by_chance, seeds,
        )  # fmt: skip
        marked: Any = function  # a function takes attributes that its type does not have
        marked.claims = [made, *getattr(function, "claims", [])]
        return function

    return put


def number(label: str, *, unit: str = "1") -> Callable[[Function], Function]:
    """Name a function whose number stands beside the claims for every experiment that has it."""

    def put(function: Function) -> Function:
        _statistic(function, label, unit)
        marked: Any = function  # as in ``claim``
        marked.listed = True
        return function

    return put


def _statistic(function: Any, label: str, unit: str) -> Statistic:
    """Return the function's statistic, which the first decorator that gives a label makes."""
    known = getattr(function, "statistic", None)
    if known is None:
        if not label:
            raise ValueError(f"{function.__name__}: say what its number is: label='fall of ...'")
        known = function.statistic = Statistic(function, label, unit)
    return known


def claims_of(module: ModuleType, work: str) -> list[Claim]:
    """Return the claims of a module, or of a package's ``PARTS``, in the order in which they stand.

    Raises ValueError where two share a name.
    """
    found = [
        replace(each, work=work)
        for function in _functions(module)
        for each in getattr(function, "claims", ())
    ]
    names = [each.name for each in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"{module.__name__}: two claims are called {', '.join(twice)}; give one another name"
        )
    return found


def numbers_of(module: ModuleType) -> list[Statistic]:
    """Return the statistics of a module, or of a package's ``PARTS``, that stand beside every experiment."""
    return [function.statistic for function in _functions(module) if getattr(function, "listed", False)]


def _functions(module: ModuleType) -> Iterator[Any]:
    """Yield what modules define themselves; what they import is left out."""
    parts = module.PARTS if hasattr(module, "__path__") else [module]
    return (
        each
        for part in parts
        for each in vars(part).values()
        if getattr(each, "__module__", None) == part.__name__
    )


def load(path: Path) -> ModuleType:
    """Return the module of a user's file of claims.

    Raises ValueError where the file is missing, cannot be imported, or holds no claim.
    """
    name = f"claims_{sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"claims: there is no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    written = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # nothing is written beside a user's file
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"claims: {path} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.dont_write_bytecode = written
    if not claims_of(module, str(path)):
        raise ValueError(f"claims: {path} holds no function with @claim(...) on it")
    return module
