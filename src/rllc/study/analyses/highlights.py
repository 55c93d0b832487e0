"""Which tokens' loss falls in each stage: spec."""

from collections.abc import Iterator

from rllc.measures.token_losses.spec import Highlights
from rllc.study.analyses.stages import Stages
from rllc.study.checks.names import refer
from rllc.study.sampling import settings
from rllc.study.specs import AnalysisSpec, Variable, Work

DIMS = {
    ("stage", "context", "position"): ("gain", "logit_gain"),
    ("stage",): ("stage_start", "stage_end", "end_determined", "scale"),
    ("stage", "tokens"): ("mean_gain", "mean_gain_se", "counted"),
    ("stage", "excerpt"): ("excerpt_context", "excerpt_start", "excerpt_score"),
    ("stage", "rank"): ("pair", "pair_gain", "pair_count"),
}


def _checks(place: str, work: Work[Highlights]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    if experiment.task != "language":
        yield f"{place}: highlights are of text; set it to null"
        return
    if experiment.get(Stages) is None:
        yield f"{place}: it is of the stages of the LLC; give stages"
    known = settings(experiment)
    names = [name for name, each in known.items() if each.full]
    yield from refer(f"{place}.setting", section.setting, names, "setting with `full`")
    sampled = getattr(known.get(section.setting), "full", None)
    names = (sampled.distributions if sampled else None) or experiment.distributions
    yield from refer(f"{place}.distribution", section.distribution, names, "distribution of the LLC")
    if work.is_taught(section.distribution):
        yield (
            f"{place}.distribution: the targets of '{section.distribution}' are a model's predictions; "
            "name a distribution of text"
        )
    tokenizer = work.tokenizer_section
    if tokenizer is not None and section.length > tokenizer.predictions:
        yield f"{place}.length: {section.length} of the {tokenizer.predictions} tokens of a context; lower it"


ANALYSIS = AnalysisSpec(
    name="highlights",
    section=Highlights,
    about="tokens whose loss falls in each stage, with excerpts to read them in",
    function="rllc.analysis.highlights:highlights",
    variables={name: Variable("", "", dims) for dims, names in DIMS.items() for name in names},
    reads=("token_losses", "stages"),
    settings=lambda work: work.section.model_dump(exclude={"contexts", "batch_size"}),
    checks=_checks,
    stream="highlights",
    local=True,
)
