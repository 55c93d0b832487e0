"""When induction heads form: config and spec."""

from collections.abc import Iterator

from rllc.measures.induction_ablation.spec import InductionAblation
from rllc.study.checks.names import refer
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.roles import HeadTypes
from rllc.study.sampling import BASE_SETTING, setting
from rllc.study.specs import AnalysisSpec, Variable, Work
from rllc.study.values import Name


class Staggered(ConfigModel):
    """When induction heads form, by their refined LLCs and by in-context learning."""

    distribution: Name = config_field(
        "of the refined LLC and of the score", source="arXiv 2410.02984, App. B.2.2: code"
    )


def _checks(place: str, work: Work[Staggered]) -> Iterator[str]:
    experiment, name = work.experiment, work.section.distribution
    sampling, icl = setting(experiment, BASE_SETTING, "heads"), experiment.get(InductionAblation)
    if not (icl and experiment.get(HeadTypes) and sampling):
        yield f"{place}: it is of induction_ablation, head_types and sampling.heads; give all three"
        return
    for dataset, section in (("rllc", sampling), ("induction_ablation", icl)):
        known = section.distributions or experiment.distributions
        yield from refer(f"{place}.distribution", name, known, f"distribution of {dataset}.nc")


ANALYSIS = AnalysisSpec(
    name="staggered",
    section=Staggered,
    about="when induction heads form, by their refined LLCs and by in-context learning",
    function="rllc.analysis.staggered:staggered",
    variables={
        name: Variable(words, unit, ("step",))
        for name, words, unit in (
            ("spread", "log2 of the latest over the earliest peak of induction heads", "octaves"),
            ("same_order", "whether peaks and falls of the score have one order", "1"),
            ("drop_at_peak", "largest distance of a head's peak from its fall of the score", "octaves"),
            ("joint_drop_at_peak", "distance of the joint peak from the plain fall", "octaves"),
            ("icl_left", "score without induction heads over the plain one", "1"),
            ("icl_left_se", "standard error of icl_left", "1"),
        )
    },
    reads=("induction_ablation", "rllc", "attention_scores"),
    uses=("components",),
    checks=_checks,
    local=True,
)
