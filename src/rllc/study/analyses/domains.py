"""The LLC on other domains of text beside that on the training text: config and spec."""

from collections.abc import Iterator

from pydantic import model_validator

from rllc.study.checks.names import refer
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.sampling import BASE_SETTING, setting
from rllc.study.specs import AnalysisSpec, Variable, Work
from rllc.study.values import RLLC, Distinct, Name, Step


class Domains(ConfigModel):
    """How alike the LLCs on several distributions of text are."""

    reference: Name = config_field("distribution with which the others are compared: the training text")
    programming: Distinct[Name] = config_field("those that are programming languages", default=[])
    science: Distinct[Name] = config_field("those that are scientific texts", default=[])
    stage: list[Step] | None = config_field(
        "first and last step of the stage in which the LLC falls; null: not known",
        source=f"{RLLC}, C.1: LM3, 6,500 to 8,500",
        min_length=2,
        max_length=2,
        default=None,
    )

    @model_validator(mode="after")
    def _in_order(self) -> "Domains":
        if self.stage and self.stage[0] >= self.stage[1]:
            raise ValueError(f"stage: {self.stage[0]} is not before {self.stage[1]}")
        if twice := {*self.programming} & {*self.science}:
            raise ValueError(f"{', '.join(sorted(twice))} is in programming and in science: take one out")
        if self.reference in (*self.programming, *self.science):
            raise ValueError(f"{self.reference} is the reference: take it out of the others")
        return self


def _checks(place: str, work: Work[Domains]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    sampling = setting(experiment, BASE_SETTING, "full")
    if not sampling:
        yield f"{place}: it compares whole-model LLCs; give sampling.full"
        return
    curves = sampling.distributions or experiment.distributions
    for field in ("reference", "programming", "science"):
        names = getattr(section, field)
        for name in names if isinstance(names, list) else [names]:
            yield from refer(f"{place}.{field}", name, curves, "distribution of llc.nc")


ANALYSIS = AnalysisSpec(
    name="domains",
    section=Domains,
    about="how alike the LLCs on several distributions of text are",
    function="rllc.analysis.domains:domains",
    variables={
        **{name: Variable("", "", ("distribution",)) for name in ("correlation", "correlation_se")},
        **{
            name: Variable("", "", ("step",))
            for name in (
                "least_correlation",
                "least_correlation_se",
                "correlation_gap",
                "correlation_gap_se",
                "science_fall",
                "science_fall_se",
                "boundary_shift",
            )
        },
    },
    reads=("llc",),
    uses=("stages",),
    checks=_checks,
    stream="domains",
    local=True,
)
