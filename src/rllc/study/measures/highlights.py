"""Which tokens' loss falls in each stage: section and rows."""

from collections.abc import Iterator

from rllc.study.checks.names import refer
from rllc.study.cost import START, Cost
from rllc.study.measures.sampling import BASE_SETTING, settings
from rllc.study.measures.stages import Stages
from rllc.study.rows import Analysis, Measure, Variable, Work
from rllc.study.section import Section, key
from rllc.study.setup import Setup
from rllc.study.values import Count, Name
from rllc.units import NATS

KINDS = 6e-5  # CPU seconds of a token whose kind is told, once in a job
DIMS = {
    ("stage", "context", "position"): ("gain", "logit_gain"),
    ("stage",): ("stage_start", "stage_end", "end_determined", "scale"),
    ("stage", "tokens"): ("mean_gain", "mean_gain_se", "counted"),
    ("stage", "excerpt"): ("excerpt_context", "excerpt_start", "excerpt_score"),
    ("stage", "rank"): ("pair", "pair_gain", "pair_count"),
}


class Highlights(Section):
    """Tokens of held-out text whose loss falls in each stage; makes also token_losses.nc."""

    distribution: Name = key("whose held-out contexts are read, and of the LLC whose stages are meant")
    setting: Name = key("sampling setting of that LLC; sampling: the base setting", default=BASE_SETTING)
    contexts: int = key("held-out contexts, the first ones", ge=2)
    batch_size: Count = key("contexts at once")
    length: Count = key("tokens of an excerpt", unit="tokens", default=60)


def _cost(work: Work[Highlights]) -> Cost:
    section = work.section
    tokens = section.contexts * work.tokens.predictions
    seconds = len(work.steps) * work.forward(section.contexts, None) + KINDS * tokens
    megabytes = 900 + 8 * work.logits(section.batch_size, None)
    return Cost(START + seconds, megabytes, 8.0 * len(work.steps) * tokens + 50.0 * tokens)


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
    yield from refer(f"{place}.distribution", section.distribution, names, "distribution of that LLC")
    if work.is_taught(section.distribution):
        yield (
            f"{place}.distribution: the targets of '{section.distribution}' are a model's predictions; "
            "name a distribution of text"
        )
    tokens = work.known_tokens
    if tokens is not None and section.length > tokens.predictions:
        yield f"{place}.length: {section.length} of the {tokens.predictions} tokens of a context; lower it"


def _contexts(experiment: Setup, section: Highlights) -> tuple[str, str]:
    return section.distribution, "held_out"


ROWS = (
    Measure(
        name="token_losses",
        sections=lambda experiment: {"token_losses": experiment.get(Highlights)},
        about="loss and logit of every next token of some held-out contexts",
        kernel="rllc.measures.token_losses:token_losses",
        variables={
            "loss": Variable("loss of the next token", NATS, ("context", "position")),
            "logit": Variable("logit of the next token", "1", ("context", "position")),
        },
        settings=lambda work: work.section.model_dump(include={"contexts", "batch_size"}),
        cost=_cost,
        requires=("positions", "tokens"),
        reads=("tokenizer",),
        contexts=_contexts,
        per_distribution=False,
        recorded_as="highlights",
    ),
)
ANALYSES = (
    Analysis(
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
    ),
)
