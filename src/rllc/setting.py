"""How chains are sampled and read: what config, scripts and estimators hand on as one object."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

DIVERGENCE_FACTOR = 5.0
BASELINES = ("paired", "init")
# Constants of each sampler beside the step, with their defaults. rmsprop: decay as in the paper (squares are
# remembered for about 100 moves); with this stabilizer a step is at most ten times that of sgld, the paper's
# 1e-5 lets it be 1e5 times as long where a gradient vanishes.
SAMPLERS: dict[str, dict[str, float]] = {"sgld": {}, "rmsprop": {"decay": 0.99, "stabilizer": 0.1}}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The law of the chains around a centre w*, and what of them enters the estimate.

    Each is the argument of that name of ``rllc.estimator.llc.estimate``, which says what it is. Raises
    ValueError, saying what was expected, where one is out of range.
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
    centred: bool = False
    baseline: str = "paired"
    sampler: str = "sgld"
    sampler_options: Mapping[str, float] = field(default_factory=dict)
    divergence_factor: float = DIVERGENCE_FACTOR

    @classmethod
    def of(cls, section: Mapping[str, Any], **changes: Any) -> Self:
        """The setting that a section of plain data holds among other things, with ``changes``."""
        own = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in section.items() if name in own} | changes)

    def __post_init__(self) -> None:
        for name in ("n_beta", "step_size", "divergence_factor"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ValueError(f"{name} is {value}: expected a positive finite number")
        if not 0 <= self.localization < float("inf"):
            raise ValueError(f"localization is {self.localization}: expected 0 (no pull) or more, finite")
        if self.chains < 1 or self.draws < 1:
            raise ValueError(f"{self.chains} chains of {self.draws} draws: expected at least one of each")
        if self.thinning < 1:
            raise ValueError(f"thinning is {self.thinning}: expected the number of moves per draw, 1 or more")
        if not 0 <= self.burn_in < self.draws:
            raise ValueError(
                f"burn_in {self.burn_in} leaves none of the {self.draws} draws, or is negative: "
                f"expected 0 to {self.draws - 1}"
            )
        if self.baseline not in BASELINES:
            raise ValueError(f"unknown baseline {self.baseline!r}: expected one of {', '.join(BASELINES)}")
        if self.centred and not (self.gradient and self.sampler == "sgld"):
            raise ValueError(
                "centred is the gradient less that at the centre: it needs gradient=True and sampler sgld"
            )
        self._check_sampler()

    def _check_sampler(self) -> None:
        if self.sampler not in SAMPLERS:
            raise ValueError(f"unknown sampler {self.sampler!r}: expected one of {', '.join(SAMPLERS)}")
        defaults = SAMPLERS[self.sampler]
        unknown = sorted(set(self.sampler_options) - set(defaults))
        if unknown:
            raise ValueError(
                f"sampler {self.sampler!r} has no option {', '.join(map(repr, unknown))}: "
                f"expected {', '.join(defaults) or 'none'}"
            )
        decay, stabilizer = (self.options.get(name, 0.5) for name in ("decay", "stabilizer"))
        if not 0 <= decay < 1:
            raise ValueError(f"decay is {decay}: expected 0 (no memory) or more, below 1")
        if not 0 < stabilizer < float("inf"):
            raise ValueError(f"stabilizer is {stabilizer}: expected a positive finite number")

    @property
    def options(self) -> dict[str, float]:
        """Constants of the sampler: the defaults and what is given."""
        return {**SAMPLERS[self.sampler], **self.sampler_options}

    @property
    def moves(self) -> int:
        """Moves of a chain from the first draw to the last."""
        return (self.draws - 1) * self.thinning

    def facts(self) -> dict[str, float | int | str]:
        """All of it as a dataset records it: the sampler's constants among the rest, truth as 0 or 1."""
        plain = {name: value for name, value in asdict(self).items() if name != "sampler_options"}
        return {**plain, "gradient": int(self.gradient), "centred": int(self.centred), **self.options}
