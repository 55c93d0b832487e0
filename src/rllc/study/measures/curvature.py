"""Curvature of the loss: sections and rows."""

from collections.abc import Iterator
from typing import Any

from rllc.study.cost import START, Cost
from rllc.study.rows import FigureRow, Measure, Variable, Work
from rllc.study.section import Section, key
from rllc.study.values import RLLC, STAGE, Count, Distinct, Name, Share
from rllc.units import NATS


class Hessian(Section):
    """Hutchinson traces."""

    probes: int = key("Rademacher probes", ge=2, source=f"{RLLC}, App. D: 50")
    batch_size: Count = key(
        "contexts per probe, others for each: so the standard error holds the choice of text, too",
        source=f"{RLLC}, App. D: 100 samples, the same for all probes",
    )
    scored_positions: Count | None = key("as in sampling")
    contexts_at_once: Count | None = key(
        "contexts that are differentiated at once, which bounds memory; null: all of a probe", default=None
    )
    distributions: Distinct[Name] | None = key("null: all of the experiment's", min_length=1, default=None)


class Fisher(Section):
    """Traces of the Fisher information matrix, on contexts that the checkpoint generates."""

    probes: int = key("Rademacher probes, each on contexts of its own", ge=2, source=f"{RLLC}, App. D.2: 5")
    batch_size: Count = key("contexts per probe", source=f"{RLLC}, App. D.2: 30 sequences in all")
    distributions: Distinct[Name] | None = key(
        "held-out text for `fisher_data`; the other variables are the same on all; null: all",
        min_length=1,
        default=None,
    )


class Eigenvalues(Section):
    """The largest eigenvalues of the Hessian."""

    count: Count = key("how many", source=f"{STAGE}, Fig. 6b: 3")
    contexts: Count = key("contexts of the one minibatch", source=f"{STAGE}, App. C.2: 1,024 samples")
    scored_positions: Count | None = key("as in sampling", default=None)
    tolerance: Share = key("relative accuracy", default=1e-3)
    distributions: Distinct[Name] | None = key("null: all of the experiment's", min_length=1, default=None)


PRODUCTS = 40  # of a Hessian with a vector, until three eigenvalues are known to a thousandth


def _eigenvalues_cost(work: Work[Eigenvalues]) -> Cost:
    size = (work.section.contexts, work.section.scored_positions)
    seconds = len(work.steps) * PRODUCTS * 4 * work.forward(*size)
    return Cost(START + seconds, 1200 + 20 * work.logits(*size))


def _hessian_cost(work: Work[Hessian]) -> Cost:
    section, size = work.section, (work.section.batch_size, work.section.scored_positions)
    one = work.forward(*size)
    seconds = len(work.steps) * section.probes * 8 * one
    at_once = min(section.contexts_at_once or section.batch_size, section.batch_size)
    megabytes = 1200 + 20 * work.logits(at_once, section.scored_positions)
    return Cost(START + seconds, megabytes)


def _fisher_cost(work: Work[Fisher]) -> Cost:
    """A Hessian-vector product and two forward-mode ones per probe; a forward pass per token generated."""
    section, tokens = work.section, work.tokens
    one = work.forward(section.batch_size, None)
    generated = tokens.context * work.forward(
        section.probes * section.batch_size, 1, length=tokens.context // 2
    )
    seconds = len(work.steps) * (section.probes * 14 * one + generated)
    return Cost(START + seconds, 1200 + 20 * work.logits(section.batch_size, None))


def _fisher_settings(work: Work[Fisher]) -> dict[str, Any]:
    """Contexts are as long as those of the text."""
    return work.section.model_dump(exclude={"distributions"}) | {"context": work.tokens.context}


def _fisher_checks(place: str, work: Work[Fisher]) -> Iterator[str]:
    experiment = work.experiment
    if experiment.task != "language":
        yield f"{place}: contexts are generated after a start of text, which this task lacks; set it to null"
    for name in work.section.distributions or experiment.distributions:
        if work.is_taught(name):
            yield f"{place}.distributions: '{name}' is a model's predictions; name distributions of text"


def _trace(long_name: str, *dims: str) -> Variable:
    return Variable(long_name, NATS, dims)


ROWS = (
    Measure(
        name="hessian",
        section=Hessian,
        about="traces of the Hessian, whole and of every head, a fresh minibatch per probe",
        kernel="rllc.measures.hessian:hessian",
        variables={
            "hessian_trace": Variable("trace of the Hessian of the loss", NATS),
            "hessian_trace_se": Variable(
                "standard error over probes, each on a minibatch of its own, of the Hessian trace", NATS
            ),
            "hessian_trace_head": Variable("trace of the head's block of the Hessian", NATS, ("head",)),
            "hessian_trace_head_se": Variable(
                "standard error over probes, each on a minibatch of its own, of the head's Hessian trace",
                NATS,
                ("head",),
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
    Measure(
        name="eigenvalues",
        section=Eigenvalues,
        about="largest eigenvalues of the Hessian",
        kernel="rllc.measures.eigenvalues:eigenvalues",
        variables={
            "hessian_eigenvalue": Variable("largest eigenvalues of the Hessian of the loss", NATS, ("rank",)),
            "hessian_products": Variable("products with the Hessian that they took", "1"),
        },
        cost=_eigenvalues_cost,
        stream="eigenvalues",
    ),
    Measure(
        name="fisher",
        section=Fisher,
        about="traces of the Fisher information matrix, whole and of every head",
        kernel="rllc.measures.fisher:fisher",
        variables={
            "fim_trace": _trace("trace of the FIM: of the Hessian on generated contexts"),
            "fim_trace_se": _trace("standard error over probes, each with contexts of its own"),
            "fim_trace_head": _trace("trace of the head's block of the FIM", "head"),
            "fim_trace_head_se": _trace("standard error over probes of the head's FIM trace", "head"),
            "fim_trace_ggn": _trace("trace of the FIM: of the Gauss-Newton matrix on generated contexts"),
            "fim_trace_ggn_se": _trace("standard error over probes, each with contexts of its own"),
            "fisher_data": _trace("trace of the Gauss-Newton matrix on held-out text, no FIM"),
            "fisher_data_se": _trace("standard error over probes, each with contexts of its own"),
        },
        settings=_fisher_settings,
        cost=_fisher_cost,
        checks=_fisher_checks,
        requires=("tokens",),
        reads=("tokenizer",),
        stream="fisher",
        figures={
            "rllc_fig15_fim_trace": FigureRow(
                "rllc.figures.heads.curvature:rllc_fig15_fim_trace", ("fisher",), ("hessian",), "baselines"
            )
        },
    ),
)
