"""When behaviours begin: config and spec."""

from collections.abc import Iterator

from rllc.measures.attention_scores.spec import AttentionScores
from rllc.measures.ngrams.spec import Ngrams
from rllc.study.analyses.stages import Stages
from rllc.study.checks.names import refer
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.sampling import BASE_SETTING, settings
from rllc.study.specs import AnalysisSpec, Variable, Work
from rllc.study.values import Name


class Milestones(ConfigModel):
    """When behaviours begin, beside the stages of an LLC."""

    distribution: Name = config_field("of the n-gram scores and of the LLC")
    setting: Name = config_field(
        "sampling setting of the LLC; sampling: the base setting", default=BASE_SETTING
    )


def _checks(place: str, work: Work[Milestones]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    sections = {"ngrams": Ngrams, "attention_scores": AttentionScores, "stages": Stages}
    if absent := [name for name, kind in sections.items() if experiment.get(kind) is None]:
        yield f"{place}: it is of ngrams, heads and stages; give {', '.join(absent)}"
        return
    known = settings(experiment)
    yield from refer(
        f"{place}.setting",
        section.setting,
        [n for n, each in known.items() if each.full],
        "setting with `full`",
    )
    for dataset, asked in (
        ("ngrams", experiment.get(Ngrams)),
        ("llc", getattr(known.get(section.setting), "full", None)),
    ):
        names = getattr(asked, "distributions", None) or experiment.distributions
        yield from refer(
            f"{place}.distribution", section.distribution, names, f"distribution of {dataset}.nc"
        )


def _step(long_name: str) -> Variable:
    return Variable(long_name, "steps", ("step",))


ANALYSIS = AnalysisSpec(
    name="milestones",
    section=Milestones,
    about="when behaviours begin and in which order, for claims",
    function="rllc.analysis.milestones:milestones",
    variables={
        "first_boundary": _step("first stage boundary of the LLC"),
        "bigram_minimum": _step("least bigram score"),
        "ngram_half": _step("half of the rise of the 3-gram score"),
        "previous_token_half": _step("half of the last of the largest previous-token scores"),
        "prefix_matching_half": _step("half of the last of the largest prefix-matching scores"),
        "composition_onset": _step("K-composition into the later head with most prefix matching begins"),
        "prefix_matching_onset": _step("prefix matching of the later head of composition_onset begins"),
        "bigram_after_boundary": Variable(
            "log2 of the step of the least bigram score over that of the first boundary",
            "octaves",
            ("step",),
        ),
        "in_order": Variable("whether bigrams, 3-grams, previous token, prefix come so", "1", ("step",)),
        "composition_lead": Variable(
            "log2 of the step of the onset of K-composition over that of prefix matching",
            "octaves",
            ("step",),
        ),
    },
    requires=("circuits",),
    reads=("ngrams", "attention_scores", "stages"),
    checks=_checks,
    local=True,
)
