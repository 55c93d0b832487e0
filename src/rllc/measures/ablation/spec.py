"""Ablation of every head and MLP: config and spec."""

from pydantic import model_validator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.contexts import in_whole_batches
from rllc.study.cost import START, Cost, evaluating
from rllc.study.precise import keywords, known_steps, precise_at_field, precise_field, units
from rllc.study.specs import FigureSpec, MeasureSpec, Variable, Work
from rllc.study.values import Distinct, Name, Step
from rllc.units import NATS


class Ablation(ConfigModel):
    """Zero, mean and resample ablation of every head and MLP."""

    contexts: int = config_field("contexts, a multiple of batch_size", ge=2)
    batch_size: int = config_field("contexts at once", ge=2)
    distributions: Distinct[Name] | None = config_field(
        "null: all of the experiment's", min_length=1, default=None
    )
    precise: int | None = precise_field("contexts, a multiple of batch_size,")
    precise_at: Distinct[Step] | None = precise_at_field()

    @model_validator(mode="after")
    def _whole_batches(self) -> "Ablation":
        in_whole_batches(self.contexts, self.batch_size)
        in_whole_batches(self.precise or 0, self.batch_size, "precise")
        return self


def _cost(work: Work[Ablation]) -> Cost:
    section = work.section
    passes = sum(work.forward(count, None) for count in units(work, section.contexts))
    seconds = (3 * work.components + 2) * passes
    return Cost(START + seconds, evaluating(work.logits(section.batch_size, None)))


MEASURE = MeasureSpec(
    name="ablation",
    section=Ablation,
    about="zero, mean and resample ablation of every head and MLP",
    kernel="rllc.measures.ablation.kernel:ablation",
    variables={
        "ablation": Variable("loss after ablating a head minus loss before", NATS, ("head", "method")),
        "ablation_se": Variable(
            "standard error over contexts of ablation", NATS, ("head", "method"), over="contexts"
        ),
        "ablation_mlp": Variable(
            "loss after ablating an MLP minus loss before", NATS, ("mlp", "method"), optional="with MLPs"
        ),
        "ablation_mlp_se": Variable(
            "standard error over contexts of ablation_mlp",
            NATS,
            ("mlp", "method"),
            optional="with MLPs",
            over="contexts",
        ),
    },
    cost=_cost,
    settings=keywords,
    checks=known_steps,
    requires=("heads",),
    stream="ablation",
    figures={
        "rllc_fig17_ablations": FigureSpec(
            "rllc.figures.heads.ablations:rllc_fig17_ablations",
            ("ablation",),
            ("attention_scores",),
            "baselines",
            behind=("stages",),
        )
    },
)
