"""Loss and logit of every next token, of which highlights are made: config and spec."""

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import START, Cost, evaluating
from rllc.study.sampling import BASE_SETTING
from rllc.study.setup import Setup
from rllc.study.specs import MeasureSpec, Variable, Work
from rllc.study.values import Count, Name
from rllc.units import NATS

KINDS = 6e-5  # CPU seconds of a token whose kind is told, once in a job


class Highlights(ConfigModel):
    """Tokens of held-out text whose loss falls in each stage; makes also token_losses.nc."""

    distribution: Name = config_field(
        "whose held-out contexts are read, and of the LLC whose stages are meant"
    )
    setting: Name = config_field(
        "sampling setting of the LLC; sampling: the base setting", default=BASE_SETTING
    )
    contexts: int = config_field("held-out contexts, the first ones", ge=2)
    batch_size: Count = config_field("contexts at once")
    length: Count = config_field("tokens of an excerpt", unit="tokens", default=60)


def _cost(work: Work[Highlights]) -> Cost:
    section = work.section
    tokens = section.contexts * work.tokenizer.predictions
    seconds = len(work.steps) * work.forward(section.contexts, None) + KINDS * tokens
    megabytes = evaluating(work.logits(section.batch_size, None))
    return Cost(START + seconds, megabytes, 8.0 * len(work.steps) * tokens + 50.0 * tokens)


def _contexts(experiment: Setup, section: Highlights) -> tuple[str, str]:
    return section.distribution, "held_out"


MEASURE = MeasureSpec(
    name="token_losses",
    sections=lambda experiment: {"token_losses": experiment.get(Highlights)},
    about="loss and logit of every next token of some held-out contexts",
    kernel="rllc.measures.token_losses.kernel:token_losses",
    variables={
        "loss": Variable("loss of the next token", NATS, ("context", "position")),
        "logit": Variable("logit of the next token", "1", ("context", "position")),
    },
    settings=lambda work: work.section.model_dump(include={"contexts", "batch_size"}),
    cost=_cost,
    requires=("positions", "tokens"),
    reads=("tokenizer",),
    reads_contexts_of=_contexts,
    per_distribution=False,
    recorded_as="highlights",
)
