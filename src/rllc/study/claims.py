"""Statistics of experiments and the claims that they are to judge, fixed before any result is seen."""

from typing import Literal

from pydantic import model_validator

from rllc.analysis.curves import OPTIONS
from rllc.study.section import Section, key
from rllc.study.values import Count, Distinct, Name, Step

CURVE = r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+$"


class Statistic(Section):
    """One number per seed, read off the curve of a variable over training."""

    label: str = key("what it is, in figures and as long name", min_length=1)
    unit: str = key("unit of the number", default="1")
    of: str = key("dataset and variable, as llc.llc", pattern=CURVE)
    statistic: Literal[tuple(OPTIONS)] = key("which of rllc.analysis.curves")
    experiment: Name | None = key("of this one alone; null: of every one that has such a curve", default=None)
    at: dict[Name, str | int] = key("label along each dim that has several", default={})
    layer: int | None = key("only heads of this layer, from 0", ge=0, default=None)
    over_heads: Literal["max", "min", "mean"] | None = key(
        "one value of all heads at each checkpoint", default=None
    )
    of_heads: Literal["max", "min", "mean"] | None = key(
        "the number is read off the curve of every head; one value of all these", default=None
    )
    over_seeds: Literal["sd"] | None = key(
        "the curve is their standard deviation over seeds at each checkpoint, the same for all of them",
        default=None,
    )
    from_step: Step = key("earlier checkpoints are left out", unit="steps", default=0)
    to_step: Step | None = key(
        "later checkpoints are left out; none, or a shorter training: to its end", unit="steps", default=None
    )
    window: Count = key(
        "checkpoints in a first running mean, odd: a maximum of noisy values is too large", default=1
    )
    step: Step | None = key(
        "of value_at, change, ratio_at: the first checkpoint at or after it", unit="steps", default=None
    )
    until: Step | None = key("of change, ratio_at: the later checkpoint", unit="steps", default=None)
    threshold: float | None = key(
        "of first_step_reaching and other counts: the least value; of share_within: the largest ratio",
        default=None,
    )
    places: Distinct[Step] | None = key("of places_reaching", unit="steps", min_length=1, default=None)
    factor: float | None = key("of places_reaching: how far a checkpoint may be", ge=1, default=None)
    against: str | None = key(
        "of step_lead, correlation and others of two curves: the other one, as `of`",
        pattern=CURVE,
        default=None,
    )
    against_at: dict[Name, str | int] | None = key(
        "labels of the other curve, where they are not those of `at`", default=None
    )

    @model_validator(mode="after")
    def _has_its_options(self) -> "Statistic":
        for option in dict.fromkeys(option for options in OPTIONS.values() for option in options):
            expected = option in OPTIONS[self.statistic]
            given = getattr(self, option) is not None
            if given and not expected:
                takers = [name for name, options in OPTIONS.items() if option in options]
                only = f"only {', '.join(takers)} {'do' if len(takers) > 1 else 'does'}"
                raise ValueError(f"{self.statistic} takes no '{option}', {only}; leave it out")
            if expected and not given:
                raise ValueError(f"{self.statistic} needs '{option}'")
        if self.against_at is not None and self.against is None:
            raise ValueError("against_at is of the other curve: give against, or leave it out")
        if self.over_heads and self.of_heads:
            raise ValueError("over_heads leaves one curve, so of_heads has no others: give one of the two")
        if self.layer is not None and not (self.over_heads or self.of_heads):
            raise ValueError("layer is of several heads: give over_heads or of_heads, or the head in 'at'")
        if self.to_step is not None and self.to_step < self.from_step:
            raise ValueError(f"no checkpoint is from step {self.from_step} on and not after {self.to_step}")
        if self.window % 2 == 0:
            raise ValueError(f"window {self.window} has no middle checkpoint: expected an odd number")
        return self


class Claim(Section):
    """What someone says of an experiment, and from which value of a statistic on we say that it holds."""

    text: str = key("the claim, in one's own words", min_length=1)
    source: str = key("who claims it, and where", min_length=1)
    experiment: Name = key("which experiment it is about")
    statistic: Name = key("which of the statistics it is judged by")
    at_least: float | None = key("least value that passes, itself included", default=None)
    at_most: float | None = key("largest value that passes, itself included", default=None)
    versus: Name | None = key("experiment whose mean over seeds is subtracted first", default=None)
    ratio: bool = key("divide by that mean instead", default=False)
    given: Name | None = key(
        "a claim that this one presupposes: undecided in a seed in which that does not pass", default=None
    )
    published: str | None = key(
        "what the claimants' own data give for the statistic, in words; null: not said",
        min_length=1,
        default=None,
    )
    reached: Step = key(
        "shorter trainings are not judged: the claim speaks of this step", unit="steps", default=0
    )

    @model_validator(mode="after")
    def _has_bounds(self) -> "Claim":
        if self.at_least is None and self.at_most is None:
            raise ValueError("a claim without bounds always holds: give at_least, at_most, or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"no value is at least {self.at_least:g} and at most {self.at_most:g}")
        if self.ratio and self.versus is None:
            raise ValueError("ratio divides by the mean of another experiment: say which in 'versus'")
        if self.versus == self.experiment:
            raise ValueError(f"{self.experiment} is compared with itself: 'versus' is another experiment")
        return self
