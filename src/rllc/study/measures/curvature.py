"""Curvature of the loss: sections and rows."""

from rllc.study.cost import START, Cost, forward, logits
from rllc.study.rows import FigureRow, Measure, Variable, Work
from rllc.study.section import Section, key
from rllc.study.values import RLLC, Count, Name
from rllc.units import NATS


class Hessian(Section):
    """Hutchinson traces."""

    probes: int = key("Rademacher probes", ge=2, source=f"{RLLC}, App. D: 50")
    batch_size: Count = key("contexts per probe", source=f"{RLLC}, App. D: 100 samples")
    scored_positions: Count | None = key("as in sampling")
    distributions: list[Name] | None = key("null: all of the experiment's", default=None)


def _hessian_cost(work: Work) -> Cost:
    section, size = work.section, (work.section.batch_size, work.section.scored_positions)
    one = forward(work.study, work.experiment, *size)
    seconds = len(work.steps) * section.probes * 8 * one
    return Cost(START + seconds, 1200 + 20 * logits(work.study, work.experiment, *size))


ROWS = (
    Measure(
        name="hessian",
        section=Hessian,
        about="traces of the Hessian, whole and of every head",
        kernel="rllc.measures.hessian:hessian",
        variables={
            "hessian_trace": Variable("trace of the Hessian of the loss", NATS),
            "hessian_trace_se": Variable("standard error over probes of the Hessian trace", NATS),
            "hessian_trace_head": Variable("trace of the head's block of the Hessian", NATS, ("head",)),
            "hessian_trace_head_se": Variable(
                "standard error over probes of the head's Hessian trace", NATS, ("head",)
            ),
        },
        cost=_hessian_cost,
        stream="hessian",
        figures={
            "rllc_fig14_hessian_trace": FigureRow(
                "rllc.figures.heads.curvature:rllc_fig14_hessian_trace",
                ("hessian",),
                ("heads", "rllc"),
                "baselines",
            )
        },
    ),
)
