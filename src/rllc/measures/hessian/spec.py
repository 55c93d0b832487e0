"""Traces of the Hessian: config and spec."""

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import START, Cost
from rllc.study.specs import FigureSpec, MeasureSpec, Variable, Work
from rllc.study.values import RLLC, Count, Distinct, Name
from rllc.units import NATS


class Hessian(ConfigModel):
    """Hutchinson traces."""

    probes: int = config_field("Rademacher probes", ge=2, source=f"{RLLC}, App. D: 50")
    batch_size: Count = config_field(
        "contexts per probe, others for each: so the standard error holds the choice of text, too",
        source=f"{RLLC}, App. D: 100 samples, the same for all probes",
    )
    scored_positions: Count | None = config_field("as in sampling")
    contexts_at_once: Count | None = config_field(
        "contexts that are differentiated at once, which bounds memory; null: all of a probe", default=None
    )
    distributions: Distinct[Name] | None = config_field(
        "null: all of the experiment's", min_length=1, default=None
    )


def _cost(work: Work[Hessian]) -> Cost:
    section, size = work.section, (work.section.batch_size, work.section.scored_positions)
    one = work.forward(*size)
    seconds = len(work.steps) * section.probes * 8 * one
    at_once = min(section.contexts_at_once or section.batch_size, section.batch_size)
    megabytes = 1200 + 20 * work.logits(at_once, section.scored_positions)
    return Cost(START + seconds, megabytes)


MEASURE = MeasureSpec(
    name="hessian",
    section=Hessian,
    about="traces of the Hessian, whole and of every head, a fresh minibatch per probe",
    kernel="rllc.measures.hessian.kernel:hessian",
    variables={
        "hessian_trace": Variable("trace of the Hessian of the loss", NATS),
        "hessian_trace_se": Variable(
            "standard error over probes, each on a minibatch of its own, of the Hessian trace",
            NATS,
            over="probes",
        ),
        "hessian_trace_head": Variable("trace of the head's block of the Hessian", NATS, ("head",)),
        "hessian_trace_head_se": Variable(
            "standard error over probes, each on a minibatch of its own, of the head's Hessian trace",
            NATS,
            ("head",),
            over="probes",
        ),
    },
    cost=_cost,
    stream="hessian",
    figures={
        "rllc_fig14_hessian_trace": FigureSpec(
            "rllc.figures.heads.curvature:rllc_fig14_hessian_trace",
            ("hessian",),
            ("attention_scores", "rllc"),
            "baselines",
        )
    },
)
