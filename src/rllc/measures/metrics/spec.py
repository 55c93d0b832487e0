"""Losses, in-context learning score, accuracy: config and spec."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, model_validator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.contexts import by_block, in_whole_batches
from rllc.study.families import missing_capabilities
from rllc.study.specs import MeasureSpec, Variable, Work
from rllc.study.values import Count, Step
from rllc.units import NATS

Range = Annotated[list[Step], Field(min_length=2, max_length=2)]


class Metrics(ConfigModel):
    """Losses."""

    contexts: Count = config_field("held-out contexts, a multiple of batch_size")
    batch_size: Count = config_field("contexts at once")
    icl_early: Range | None = config_field(
        "ICL score = loss at late minus loss at early positions; early: from, up to but without; null: none",
        unit="positions", default=None,
    )  # fmt: skip
    icl_late: Range | None = config_field(
        "late: from, up to but without", unit="positions", default=None,
        source="arXiv 2402.02364: the 50th and the 500th of 1,024",
    )  # fmt: skip
    accuracy: bool = config_field(
        "also the share of predictions, and of whole contexts, that are right", default=False
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Metrics":
        in_whole_batches(self.contexts, self.batch_size)
        if (self.icl_early is None) != (self.icl_late is None):
            raise ValueError("give both icl_early and icl_late, or neither")
        return self


def _checks(place: str, work: Work[Metrics]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    requires = {"accuracy": ("tokens", section.accuracy), "icl_early": ("positions", section.icl_early)}
    for name, (capability, asked) in requires.items():
        for reason in missing_capabilities(experiment.model, (capability,)) if asked else ():
            yield f"{place}.{name}: {reason}"
    if section.accuracy:
        taught = [d for d in experiment.distributions if work.is_taught(d)]
        if taught:
            yield f"{place}.accuracy: targets of {', '.join(taught)} are probabilities; leave it out"
    tokenizer = work.tokenizer_section
    if tokenizer is None or not section.icl_early:
        return
    for name in ("icl_early", "icl_late"):
        first, end = getattr(section, name)
        if not first < end <= tokenizer.predictions:
            yield (
                f"{place}.{name}: {[first, end]} is no range of the {tokenizer.predictions} "
                "predictions of a context"
            )


MEASURE = MeasureSpec(
    name="metrics",
    section=Metrics,
    about="losses, in-context learning score, accuracy, weight norm",
    kernel="rllc.measures.metrics.kernel:metrics",
    variables={
        "loss": Variable("loss, mean over all positions", NATS),
        "loss_se": Variable("standard error over contexts of the loss", NATS, over="contexts"),
        "loss_by_block": by_block("loss, mean over all positions", NATS),
        "loss_by_position": Variable(
            "loss of the prediction made at a position",
            NATS,
            ("position",),
            optional="where there are positions",
        ),
        "loss_by_position_se": Variable(
            "standard error over contexts of the loss at a position",
            NATS,
            ("position",),
            optional="where there are positions",
            over="contexts",
        ),
        "weight_norm": Variable("Euclidean norm of all weights", "1"),
        "icl_score": Variable(
            "in-context learning score: loss late in the context minus loss early",
            NATS,
            optional="where asked for",
        ),
        "icl_score_se": Variable(
            "standard error of the in-context learning score over contexts",
            NATS,
            optional="where asked for",
            over="contexts",
        ),
        "icl_score_by_block": by_block("in-context learning score", NATS, optional="where asked for"),
        "accuracy": Variable(
            "share of predictions whose likeliest token is the target", "1", optional="where asked for"
        ),
        "accuracy_se": Variable(
            "standard error over contexts of the accuracy", "1", optional="where asked for", over="contexts"
        ),
        "sequence_accuracy": Variable(
            "share of contexts in which every prediction is right", "1", optional="where asked for"
        ),
        "sequence_accuracy_se": Variable(
            "standard error of the share of right contexts", "1", optional="where asked for", over="contexts"
        ),
    },
    checks=_checks,
)
