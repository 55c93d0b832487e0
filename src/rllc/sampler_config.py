"""The sampler settings that the config, scripts and estimators pass on as one object."""

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, Self

DIVERGENCE_FACTOR = 5.0
LEAST_CHAINS = 4  # of an estimate with pairs: a coefficient fitted on fewer other chains is mostly noise
BASELINES = ("paired", "init")


class Number(NamedTuple):
    """A requirement on a number: its description, its condition, and whether it must be an integer."""

    expected: str
    holds: Callable[[float], bool]
    whole: bool = False

    def of(self, name: str, value: Any) -> float | int:
        """Return ``value``, a Python number or an array or tensor without axes, as a plain number.

        Raises ValueError with ``name`` where the value does not meet the requirement. Booleans, text and
        complex numbers do not.
        """
        plain = value.item() if getattr(value, "shape", None) == () else value
        known = isinstance(plain, int | float) and not isinstance(plain, bool)
        finite = known and abs(plain) <= sys.float_info.max
        if finite and self.holds(plain) and not (self.whole and plain % 1):
            return int(plain) if self.whole else plain
        raise ValueError(f"{name} is {shown(value)}: expected {self.expected}")


POSITIVE = Number("a positive finite number", lambda x: x > 0)
COUNT = Number("a whole number, 1 or more", lambda x: x >= 1, whole=True)
NUMBERS = {
    "n_beta": POSITIVE,
    "localization": Number("0 (no pull) or more, finite", lambda x: x >= 0),
    "step_size": POSITIVE,
    "chains": COUNT,
    "draws": COUNT,
    "burn_in": Number("a whole number of draws, 0 or more", lambda x: x >= 0, whole=True),
    "thinning": Number(
        "the number of moves per draw, a whole number, 1 or more", lambda x: x >= 1, whole=True
    ),
    "seed": Number("a whole number, 0 or more", lambda x: x >= 0, whole=True),
    "antithetic_pairs": Number(
        "0 (none) or an even number: two at a time share a minibatch", lambda x: x >= 0 and x % 2 == 0
    ),
    "divergence_factor": POSITIVE,
}


def constant(default: float, allowed: Number) -> Any:
    """Return the field of a sampler's constant, with the numbers that it may be."""
    return field(default=default, metadata={"allowed": allowed})


@dataclass(frozen=True, kw_only=True)
class SgldOptions:
    """Constants of plain SGLD besides the step size: none."""


@dataclass(frozen=True, kw_only=True)
class RmspropOptions:
    """Constants of preconditioned SGLD besides the step size.

    decay       weight of the past in the mean of squared gradients; the paper's 0.99 remembers them for about
                100 moves
    stabilizer  added to the root of that mean, in units of the gradient. With 0.1 a step is at most ten times
                that of sgld. The paper's 1e-5 lets it be 1e5 times as long where a gradient vanishes
    """

    decay: float = constant(0.99, Number("0 (no memory) or more, below 1", lambda x: 0 <= x < 1))
    stabilizer: float = constant(0.1, POSITIVE)


Options = SgldOptions | RmspropOptions
SAMPLERS: dict[str, type[Options]] = {"sgld": SgldOptions, "rmsprop": RmspropOptions}


def truth(name: str, value: Any) -> bool:
    """Return ``value`` as True or False. Raises ValueError with ``name`` where it is neither."""
    plain = value.item() if getattr(value, "shape", None) == () else value
    if not isinstance(plain, bool):
        raise ValueError(f"{name} is {shown(value)}: expected True or False")
    return plain


def shown(value: Any) -> str:
    """Return a value as text for a message: one line of at most 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _among(name: str, value: Any, known: Collection[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"unknown {name} {shown(value)}: expected one of {', '.join(known)}")


@dataclass(frozen=True, kw_only=True)
class SamplerConfig:
    """The settings of chains around a checkpoint, and of the draws that enter the estimate.

    Each field is the argument of ``rllc.estimate`` with the same name, documented there. Raises ValueError
    with the expected range where a field is out of range.

    >>> config = SamplerConfig(n_beta=30, localization=200, step_size=1e-3, chains=4, draws=200, burn_in=50)
    >>> config.moves, config.sampler
    (199, 'sgld')
    >>> SamplerConfig(n_beta=-1, localization=200, step_size=1e-3, chains=4, draws=200)
    Traceback (most recent call last):
    ValueError: n_beta is -1: expected a positive finite number
    """

    n_beta: float
    localization: float
    step_size: float
    chains: int
    draws: int
    burn_in: int = 0
    thinning: int = 1
    seed: int = 0
    gradient: bool = True
    drift_free: bool = False
    baseline: str = "paired"
    sampler: str = "sgld"
    sampler_options: Mapping[str, float] = field(default_factory=dict)
    antithetic_pairs: int = 0
    divergence_factor: float = DIVERGENCE_FACTOR

    @classmethod
    def of(cls, section: Mapping[str, Any], **changes: Any) -> Self:
        """Return the settings found in a section of plain data, with ``changes``. Other keys are ignored."""
        own = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in section.items() if name in own} | changes)

    def __post_init__(self) -> None:
        changed = {name: NUMBERS[name].of(name, getattr(self, name)) for name in NUMBERS}
        _among("baseline", self.baseline, BASELINES)
        _among("sampler", self.sampler, SAMPLERS)
        changed |= {name: truth(name, getattr(self, name)) for name in ("gradient", "drift_free")}
        changed |= {"sampler_options": self._own_options()}
        for name, value in changed.items():
            object.__setattr__(self, name, value)
        if self.burn_in >= self.draws:
            leaves = f"burn_in {self.burn_in} leaves none of the {self.draws} draws"
            raise ValueError(f"{leaves}: expected 0 to {self.draws - 1}")
        if self.drift_free and not (self.gradient and self.sampler == "sgld"):
            raise ValueError(
                "drift_free subtracts the gradient at w*: expected gradient=True and sampler sgld"
            )
        if self.antithetic_pairs and (self.drift_free or not self.gradient or self.sampler != "sgld"):
            raise ValueError(
                f"antithetic_pairs {self.antithetic_pairs} need the distribution of the control, which is "
                "known for sgld alone: "
                "expected gradient=True, drift_free=False and sampler sgld; or set antithetic_pairs=0"
            )
        if self.antithetic_pairs and self.chains < LEAST_CHAINS:
            raise ValueError(
                f"antithetic_pairs {self.antithetic_pairs} with chains {self.chains}: expected "
                f"{LEAST_CHAINS} chains or more "
                "(each chain's control coefficient is fitted on the other chains); or set antithetic_pairs=0"
            )

    def _own_options(self) -> dict[str, float]:
        given = self.sampler_options
        known = {each.name: each.metadata["allowed"] for each in fields(SAMPLERS[self.sampler])}
        if not isinstance(given, Mapping):
            raise ValueError(f"sampler_options is {shown(given)}: expected constants by name")
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ValueError(
                f"sampler {self.sampler!r} has no option {', '.join(map(repr, unknown))}: "
                f"expected {', '.join(known) or 'none'}"
            )
        return {name: known[name].of(name, value) for name, value in given.items()}

    @property
    def options(self) -> Options:
        """The constants of the sampler: the given values, and defaults for the rest."""
        return SAMPLERS[self.sampler](**self.sampler_options)

    @property
    def moves(self) -> int:
        """The number of moves of a chain from the first draw to the last."""
        return (self.draws - 1) * self.thinning

    def facts(self) -> dict[str, float | int | str]:
        """Return all settings as a dataset records them: with the sampler's constants, booleans as 0 or 1."""
        plain = {name: value for name, value in asdict(self).items() if name != "sampler_options"}
        return {
            **plain,
            "gradient": int(self.gradient),
            "drift_free": int(self.drift_free),
            **asdict(self.options),
        }
