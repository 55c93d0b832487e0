"""Rank of the Hessian: config and spec."""

from collections.abc import Iterator

from pydantic import model_validator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import START, Cost
from rllc.study.families import family_of
from rllc.study.specs import FigureSpec, MeasureSpec, Variable, Work
from rllc.study.values import RLLC, Count, Distinct, Name, Positive, Share, Step
from rllc.units import NATS

ORTHOGONALISE = 1.0e-9  # CPU seconds per weight and pair of Lanczos vectors


class HessianRank(ConfigModel):
    """How many eigenvalues of the Hessian exceed a threshold, on a fixed and on an adaptive range."""

    checkpoints: Distinct[Step] | None = config_field(
        "where it is measured; null: everywhere", unit="steps", min_length=1, default=None
    )
    contexts: Count = config_field("contexts of the one minibatch", source=f"{RLLC}, App. D.3: 3 sequences")
    scored_positions: Count | None = config_field("as in sampling", default=None)
    probes: Count = config_field(
        "Rademacher probes, the same at all checkpoints", source=f"{RLLC}, App. D.3: 1"
    )
    degree: Count = config_field(
        "of the Chebyshev polynomial; half as many products, and one, are made for each probe",
        source=f"{RLLC}, App. D.3: 100",
    )
    bounds: list[float] = config_field(
        "least and largest value of the fixed range, which must hold every eigenvalue", unit="nats/token",
        min_length=2, max_length=2, source=f"{RLLC}, App. D.3: -1,000 and 6,000",
    )  # fmt: skip
    threshold: Positive = config_field(
        "eigenvalues above it are counted on the fixed range", unit="nats/token",
        source=f"{RLLC}, App. D.3: 500",
    )  # fmt: skip
    adaptive_bound: float = config_field(
        "the adaptive range is +- this times the largest |eigenvalue|; the paper's value is not known",
        gt=1, default=1.1,
    )  # fmt: skip
    adaptive_threshold: Share = config_field(
        "the adaptive threshold over the largest |eigenvalue|; by default the published fixed threshold "
        "over its range",
        default=1 / 12,
    )
    distributions: Distinct[Name] | None = config_field(
        "null: all of the experiment's", min_length=1, default=None
    )

    @model_validator(mode="after")
    def _in_order(self) -> "HessianRank":
        low, high = self.bounds
        if not low < self.threshold < high:
            raise ValueError(f"threshold {self.threshold:g} is not between the bounds {low:g} and {high:g}")
        if not low <= 0:
            raise ValueError(f"bounds from {low:g} leave out eigenvalues near 0: begin at 0 or below")
        return self


def _vectors(work: Work[HessianRank]) -> int:
    """Of one Lanczos iteration."""
    return work.section.degree // 2 + 1


def _weights(work: Work[HessianRank]) -> int:
    model = work.experiment.model
    return family_of(model).weights(model, work.tokenizer)


def _cost(work: Work[HessianRank]) -> Cost:
    """Products, each of which is made orthogonal to those before it, all of which are kept."""
    section = work.section
    size, vectors, weights = (section.contexts, section.scored_positions), _vectors(work), _weights(work)
    iteration = vectors * 4 * work.forward(*size) + ORTHOGONALISE * vectors**2 * weights
    seconds = len(work.steps) * section.probes * iteration
    return Cost(START + seconds, 1200 + 20 * work.logits(*size) + 4e-6 * vectors * weights)


def _checks(place: str, work: Work[HessianRank]) -> Iterator[str]:
    if work.tokenizer_section is not None and _vectors(work) > _weights(work):
        yield (
            f"{place}.degree: {work.section.degree} takes {_vectors(work)} products, and the model has "
            f"{_weights(work)} weights; lower it"
        )


def _count(long_name: str, *dims: str, over: str = "") -> Variable:
    return Variable(long_name, "1", ("rank_range", *dims), over=over)


MEASURE = MeasureSpec(
    name="hessian_rank",
    section=HessianRank,
    about="how many eigenvalues of the Hessian exceed a threshold, by three methods",
    kernel="rllc.measures.hessian_rank.kernel:hessian_rank",
    variables={
        "hessian_rank": _count("eigenvalues of the Hessian above the threshold", "rank_method"),
        "hessian_rank_se": _count("standard error over probes of the count", "rank_method", over="probes"),
        "hessian_rank_offset": _count("what the method counts if all are zero", "rank_method"),
        "hessian_rank_low": _count("at least so many, by the Ritz values"),
        "hessian_rank_high": _count("at most so many, by the Ritz values"),
        "hessian_rank_converged": _count("Ritz values above the threshold that are near eigenvalues"),
        "hessian_rank_threshold": Variable("the threshold", NATS, ("rank_range",)),
        "hessian_max_eigenvalue": Variable("largest Ritz value of the Hessian", NATS),
        "hessian_min_eigenvalue": Variable("least Ritz value of the Hessian", NATS),
    },
    cost=_cost,
    checks=_checks,
    stream="hessian_rank",
    figures={
        "rllc_fig16_hessian_rank": FigureSpec(
            "rllc.measures.hessian_rank.figure:rllc_fig16_hessian_rank",
            ("hessian_rank",),
            category="baselines",
            behind=("stages",),
        )
    },
)
