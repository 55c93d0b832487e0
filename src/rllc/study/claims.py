"""Statistics of experiments and the claims that they are to judge, fixed before any result is seen."""

from typing import Annotated, Literal

from pydantic import StringConstraints, model_validator

from rllc.analysis.across_heads import BY_TYPE, OF_HEADS, OVER_HEADS, SPEARMAN
from rllc.analysis.functions import COMBINATIONS, OPTIONS, STEPS
from rllc.analysis.kinds import TYPES
from rllc.study.section import Section, key
from rllc.study.values import Count, Distinct, Name, Step

CURVE = r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+$"
CURVES_ALONE = ("at", "divided_by", "layer", "types", "over_heads", "of_heads", "against", "against_at")
HeadType = Annotated[str, StringConstraints(pattern=rf"^([0-9]+:)?({'|'.join(TYPES)})$")]


class Needs(Section):
    """Heads without which a statistic has no value: claims about it are not judged in such a seed."""

    heads: Count = key("how many at least")
    types: Distinct[HeadType] = key("of these types", min_length=1)


class Statistic(Section):
    """One number per seed: read off the curve of a variable over training, or made of other such numbers."""

    label: str = key("what it is, in figures and as long name", min_length=1)
    unit: str = key("unit of the number", default="1")
    of: str | None = key(
        "dataset and variable, as llc.llc; null: it is of other statistics", pattern=CURVE, default=None
    )
    statistic: Literal[(*OPTIONS, *COMBINATIONS)] = key("which of rllc.analysis.functions")
    among: Distinct[Name] | None = key(
        "of mean_of, largest_of, difference_of (first less second): statistics", min_length=2, default=None
    )
    experiment: Name | None = key("of this one alone; null: of every one that has such a curve", default=None)
    at: dict[Name, str | int] = key("label along each dim that has several", default={})
    divided_by: dict[Name, str | int] | None = key(
        "the curve is that at `at` over that with these labels instead", min_length=1, default=None
    )
    layer: int | None = key("only heads of this layer, from 0", ge=0, default=None)
    types: Distinct[HeadType] | None = key(
        "only heads that attention scores give one of these types; `0:multigram`: of layer 0",
        min_length=1,
        default=None,
    )
    over_heads: Literal[(*OVER_HEADS, SPEARMAN)] | None = key(
        "one value of all heads at each checkpoint (rllc.analysis.across_heads); spearman: with `against`",
        default=None,
    )
    of_heads: Literal[tuple(OF_HEADS)] | None = key(
        "the number is read off the curve of every head; one value of all these", default=None
    )
    over_seeds: Literal["sd"] | None = key(
        "the curve is their standard deviation over seeds at each checkpoint, the same for all of them",
        default=None,
    )
    bound: float | None = key("of of_heads share: heads whose number is at most this count", default=None)
    needs: Needs | None = key("heads that there must be", default=None)
    from_step: Step | Name = key(
        "earlier checkpoints are left out; here and below, a name: the step that this statistic gives",
        unit="steps",
        default=0,
    )
    to_step: Step | Name | None = key(
        "later checkpoints are left out; none, or a shorter training: to its end", unit="steps", default=None
    )
    window: Count = key(
        "checkpoints in a first running mean, odd: a maximum of noisy values is too large", default=1
    )
    step: Step | Name | None = key(
        "of value_at, change, ratio_at, log2_ratio: the first checkpoint at or after it; of log2_gain: the "
        "last of the early ones",
        unit="steps",
        default=None,
    )
    until: Step | Name | None = key(
        "of change, ratio_at, log2_ratio: the later checkpoint", unit="steps", default=None
    )
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

    @property
    def named(self) -> list[str]:
        """Other statistics that it is made of, or takes a step from."""
        steps = [getattr(self, key) for key in STEPS]
        return [*(self.among or []), *(step for step in steps if isinstance(step, str))]

    @property
    def by_type(self) -> bool:
        """Whether it depends on the types of heads."""
        return bool(self.types or self.needs) or self.over_heads in BY_TYPE

    @model_validator(mode="after")
    def _has_its_options(self) -> "Statistic":
        if (self.among is not None) != (self.statistic in COMBINATIONS):
            raise ValueError(f"'among' is of {', '.join(COMBINATIONS)}, and these are of nothing else")
        if (self.of is None) != (self.among is not None):
            raise ValueError("give either 'of', a curve, or 'among', other statistics")
        if self.statistic == "difference_of" and len(self.among) != 2:
            raise ValueError("difference_of is the first of two statistics less the second: name two")
        given = {key for key in CURVES_ALONE if getattr(self, key) not in (None, {})}
        if self.among is not None and given:
            raise ValueError(f"{', '.join(sorted(given))}: {self.statistic} is of numbers; leave it out")
        for option in dict.fromkeys(option for options in OPTIONS.values() for option in options):
            expected = option in OPTIONS.get(self.statistic, ())
            given = getattr(self, option) is not None
            if option == "against" and self.over_heads == SPEARMAN:
                if expected:
                    raise ValueError(f"spearman over heads leaves one curve, and {self.statistic} is of two")
                expected = True
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
        for name in ("layer", "types"):
            if getattr(self, name) is not None and not (self.over_heads or self.of_heads):
                several = "is of several heads: give over_heads or of_heads, or the head in 'at'"
                raise ValueError(f"{name} {several}")
        if (self.bound is not None) != (self.of_heads == "share"):
            raise ValueError("of_heads share needs 'bound', and nothing else takes it")
        if (
            isinstance(self.from_step, int)
            and isinstance(self.to_step, int)
            and self.to_step < self.from_step
        ):
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
