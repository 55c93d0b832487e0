"""Integrity of a series of checkpoints: config and spec."""

from collections.abc import Iterator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import HASHED, MEGABYTE, START, Cost, evaluating
from rllc.study.families import family_of
from rllc.study.setup import Setup
from rllc.study.specs import FigureSpec, Finish, MeasureSpec, Variable, Work
from rllc.study.values import Count, Name
from rllc.units import NATS

COMPARED = 3  # passes over the weights beside their read: two distances and the digest


class Integrity(ConfigModel):
    """Whether checkpoints are a series: their order, equal tensors, and the loss of each on one text."""

    distribution: Name | None = config_field(
        "whose held-out contexts give the loss; null: the experiment's first", default=None
    )
    contexts: int = config_field("held-out contexts, the first ones", ge=2)
    batch_size: Count = config_field("contexts at once")


def _text(experiment: Setup, section: Integrity) -> str:
    return section.distribution or experiment.distributions[0]


def _cost(work: Work[Integrity]) -> Cost:
    section = work.section
    megabytes = MEGABYTE * family_of(work.experiment.model).weights(work.experiment.model, work.tokenizer)
    seconds = work.forward(section.contexts, None) + (1 + COMPARED) * megabytes / HASHED
    return Cost(START + len(work.steps) * seconds, evaluating(work.logits(section.batch_size, None)))


def _checks(place: str, work: Work[Integrity]) -> Iterator[str]:
    known = work.experiment.distributions
    if not known:
        yield f"{place}.distribution: the experiment has no distributions; give one, whose loss is measured"
    elif (name := _text(work.experiment, work.section)) not in known:
        yield f"{place}.distribution: {name} is not one of the experiment's ({', '.join(known)}); give one"
    elif work.is_taught(name):
        yield f"{place}.distribution: the targets of {name} are a model's predictions; give a text"


MEASURE = MeasureSpec(
    name="integrity",
    section=Integrity,
    sections=lambda experiment: {"checkpoints": experiment.get(Integrity)},
    datasets="checkpoints",
    about="norm, distances to the checkpoints before, digest and loss of every checkpoint",
    kernel="rllc.measures.integrity.kernel:integrity",
    variables={
        "loss": Variable("loss on the text, mean over all positions", NATS),
        "loss_se": Variable("standard error over contexts of the loss", NATS, over="contexts"),
        "norm": Variable("Euclidean norm of all weights", "1"),
        "distance_to_previous": Variable("distance of all weights to the checkpoint before", "1"),
        "distance_to_second_previous": Variable(
            "distance of all weights to the last but one checkpoint before", "1"
        ),
        "previous_step": Variable("step of the checkpoint before; -1: none", "steps"),
        "digest": Variable("SHA-256 of the tensors", "1"),
    },
    settings=lambda work: {
        "contexts": work.section.contexts,
        "batch_size": work.section.batch_size,
        "distribution": _text(work.experiment, work.section),
    },
    cost=_cost,
    checks=_checks,
    requires=("positions", "tokens"),
    reads_contexts_of=lambda experiment, section: (_text(experiment, section), "held_out"),
    earlier=2,
    per_distribution=False,
    finish=Finish(
        function="rllc.analysis.checkpoint_order:out_of_place",
        variables={
            "relative_distance": Variable("distance to the checkpoint before, over the norm", "1"),
            "turn": Variable("cosine of the angle between the steps to and from the checkpoint", "1"),
            "detour": Variable("length of the path that the checkpoint adds", "1"),
            "equal_to": Variable("step of the first checkpoint with equal tensors; -1: none", "steps"),
            "outlier": Variable("reasons to doubt the checkpoint, one bit each", "1"),
        },
        dims=("seed", "step"),
    ),
    figures={
        "checkpoint_integrity": FigureSpec(
            "rllc.measures.integrity.figure:checkpoint_integrity", ("checkpoints",), category="baselines"
        )
    },
)
