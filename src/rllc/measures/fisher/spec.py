"""Traces of the Fisher information matrix: config and spec."""

from collections.abc import Iterator
from typing import Any

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import START, Cost
from rllc.study.precise import keywords, known_steps, precise_at_field, precise_field, units
from rllc.study.specs import FigureSpec, MeasureSpec, Variable, Work
from rllc.study.values import RLLC, Count, Distinct, Name, Step
from rllc.units import NATS


class Fisher(ConfigModel):
    """Traces of the Fisher information matrix, on contexts that the checkpoint generates."""

    probes: int = config_field(
        "Rademacher probes, each on contexts of its own", ge=2, source=f"{RLLC}, App. D.2: 5"
    )
    batch_size: Count = config_field("contexts per probe", source=f"{RLLC}, App. D.2: 30 sequences in all")
    distributions: Distinct[Name] | None = config_field(
        "held-out text for `fisher_data`; the other variables are the same on all; null: all",
        min_length=1,
        default=None,
    )
    precise: int | None = precise_field("probes")
    precise_at: Distinct[Step] | None = precise_at_field()


def _cost(work: Work[Fisher]) -> Cost:
    """A Hessian-vector product and two forward-mode ones per probe; a forward pass per token generated."""
    section, tokenizer = work.section, work.tokenizer
    one = work.forward(section.batch_size, None)
    seconds = sum(
        probes * 14 * one
        + tokenizer.context * work.forward(probes * section.batch_size, 1, length=tokenizer.context // 2)
        for probes in units(work, section.probes)
    )
    return Cost(START + seconds, 1200 + 20 * work.logits(section.batch_size, None))


def _settings(work: Work[Fisher]) -> dict[str, Any]:
    """Contexts are as long as those of the text."""
    return keywords(work) | {"context": work.tokenizer.context}


def _checks(place: str, work: Work[Fisher]) -> Iterator[str]:
    experiment = work.experiment
    yield from known_steps(place, work)
    if experiment.task != "language":
        yield f"{place}: contexts are generated after a start of text, which this task lacks; set it to null"
    for name in work.section.distributions or experiment.distributions:
        if work.is_taught(name):
            yield f"{place}.distributions: '{name}' is a model's predictions; name distributions of text"


def _trace(long_name: str, *dims: str) -> Variable:
    return Variable(long_name, NATS, dims)


def _error(long_name: str, *dims: str) -> Variable:
    return Variable(long_name, NATS, dims, over="probes")


MEASURE = MeasureSpec(
    name="fisher",
    section=Fisher,
    about="traces of the Fisher information matrix, whole and of every head",
    kernel="rllc.measures.fisher.kernel:fisher",
    variables={
        "fim_trace": _trace("trace of the FIM: of the Hessian on generated contexts"),
        "fim_trace_se": _error("standard error over probes, each with contexts of its own"),
        "fim_trace_head": _trace("trace of the head's block of the FIM", "head"),
        "fim_trace_head_se": _error("standard error over probes of the head's FIM trace", "head"),
        "fim_trace_ggn": _trace("trace of the FIM: of the Gauss-Newton matrix on generated contexts"),
        "fim_trace_ggn_se": _error("standard error over probes, each with contexts of its own"),
        "fisher_data": _trace("trace of the Gauss-Newton matrix on held-out text, no FIM"),
        "fisher_data_se": _error("standard error over probes, each with contexts of its own"),
    },
    settings=_settings,
    cost=_cost,
    checks=_checks,
    requires=("tokens",),
    reads=("tokenizer",),
    stream="fisher",
    figures={
        "rllc_fig15_fim_trace": FigureSpec(
            "rllc.figures.heads.curvature:rllc_fig15_fim_trace",
            ("fisher",),
            ("hessian",),
            "baselines",
            behind=("stages",),
        )
    },
)
