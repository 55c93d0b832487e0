"""What a change of the data does to induction and multigram heads: config and spec."""

from collections.abc import Iterator

from rllc.measures.attention_scores.spec import AttentionScores
from rllc.study.checks.names import refer
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.roles import HeadTypes
from rllc.study.sampling import BASE_SETTING, setting
from rllc.study.specs import AnalysisSpec, Variable, Work
from rllc.study.values import RLLC, Distinct, Name


class Refinement(ConfigModel):
    """What a change of the data does to induction and multigram heads."""

    distribution: Name = config_field("distribution of the numerator", source=f"{RLLC}, section 4.2: code")
    against: Distinct[Name] = config_field(
        "distributions of the denominator",
        min_length=1,
        source=f"{RLLC}, section 4.2: the pretraining distribution",
    )


def _checks(place: str, work: Work[Refinement]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    sampling = setting(experiment, BASE_SETTING, "heads")
    if not sampling or not experiment.get(AttentionScores) or not experiment.get(HeadTypes):
        yield (
            f"{place}: it is of rLLC curves by type of head; give sampling.heads, attention_scores and "
            "head_types"
        )
        return
    curves = sampling.distributions or experiment.distributions
    yield from refer(f"{place}.distribution", section.distribution, curves, "distribution of rllc.nc")
    for name in section.against:
        yield from refer(f"{place}.against", name, curves, "distribution of rllc.nc")
        if name == section.distribution:
            yield f"{place}.against: {name} is compared with itself; take it out"


ANALYSIS = AnalysisSpec(
    name="refinement",
    section=Refinement,
    about="how much larger the rLLCs of induction and multigram heads are on one distribution than on others",
    function="rllc.analysis.refinement:refinement",
    variables={
        "log2_ratio": Variable("", "", ("step", "head_group", "against")),
        "log2_ratio_se": Variable("", "", ("step", "head_group", "against")),
        "log2_ratio_prior_only": Variable("", "", ("step", "head_group", "against")),
        "log2_ratio_prior_only_se": Variable("", "", ("step", "head_group", "against")),
        "quality": Variable("", "", ("step", "head_group", "against")),
        "heads_of_group": Variable("", "", ("head_group",)),
    },
    reads=("rllc", "attention_scores"),
    checks=_checks,
    local=True,
)
