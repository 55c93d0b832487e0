"""Config section and specification of the measure "hessian"."""

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import START, Cost
from rllc.study.precise import keywords, known_steps, precise_at_field, precise_field, units
from rllc.study.specs import FigureSpec, MeasureSpec, Variable, Work
from rllc.study.values import RLLC, Count, Distinct, Name, Step
from rllc.units import NATS


class Hessian(ConfigModel):
    """Trace of the Hessian by Hutchinson's estimator."""

    probes: int = config_field("Rademacher probes", ge=2, source=f"{RLLC}, App. D: 50")
    batch_size: Count = config_field(
        "contexts per probe; each probe has others, so the standard error includes the choice of text",
        source=f"{RLLC}, App. D: 100 samples, the same for all probes",
    )
    scored_positions: Count | None = config_field(
        "positions of each context whose predictions enter the loss, as in ``sampling``; null: all"
    )
    contexts_at_once: Count | None = config_field(
        "contexts differentiated at once, to bound memory; null: all contexts of a probe", default=None
    )
    distributions: Distinct[Name] | None = config_field(
        "distributions measured; null: all of the experiment", min_length=1, default=None
    )
    precise: int | None = precise_field("probes")
    precise_at: Distinct[Step] | None = precise_at_field()


def _cost(work: Work[Hessian]) -> Cost:
    section, size = work.section, (work.section.batch_size, work.section.scored_positions)
    one = work.forward(*size)
    seconds = sum(units(work, section.probes)) * 8 * one
    at_once = min(section.contexts_at_once or section.batch_size, section.batch_size)
    megabytes = 1200 + 20 * work.logits(at_once, section.scored_positions)
    return Cost(START + seconds, megabytes)


MEASURE = MeasureSpec(
    name="hessian",
    section=Hessian,
    about="trace of the Hessian of the whole model and of every head, with a new minibatch per probe",
    kernel="rllc.measures.hessian.kernel:hessian",
    variables={
        "hessian_trace": Variable("trace of the Hessian of the loss", NATS),
        "hessian_trace_se": Variable(
            "standard error of the Hessian trace, over probes with a minibatch each",
            NATS,
            over="probes",
        ),
        "hessian_trace_head": Variable("trace of the head's block of the Hessian", NATS, ("head",)),
        "hessian_trace_head_se": Variable(
            "standard error of the head's Hessian trace, over probes with a minibatch each",
            NATS,
            ("head",),
            over="probes",
        ),
    },
    cost=_cost,
    settings=keywords,
    checks=known_steps,
    stream="hessian",
    figures={
        "rllc_fig14_hessian_trace": FigureSpec(
            "rllc.figures.heads.curvature:rllc_fig14_hessian_trace",
            needs=("hessian",),
            uses=("attention_scores", "rllc"),
            category="baselines",
            behind=("llc", "stages"),
        )
    },
)
