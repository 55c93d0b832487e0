"""What a model does as a predictor: sections and rows."""

from collections.abc import Callable, Iterator
from typing import Annotated

from pydantic import Field, model_validator

from rllc.study.cost import START, Cost
from rllc.study.families import missing_capabilities
from rllc.study.rows import Measure, Variable, Work
from rllc.study.section import Section, key
from rllc.study.values import Count, Distinct, Name, Step
from rllc.units import NATS

BY_POSITION = [0, 1, 2, 3, 4, 5, 6, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000]
Range = Annotated[list[Step], Field(min_length=2, max_length=2)]


def in_whole_batches(contexts: int, batch_size: int) -> None:
    """Raise ValueError where contexts do not fill minibatches."""
    if contexts % batch_size:
        multiple = max(1, (contexts + batch_size // 2) // batch_size) * batch_size
        raise ValueError(
            f"contexts {contexts} is no multiple of batch_size {batch_size}; the nearest is {multiple}"
        )


class Metrics(Section):
    """Losses."""

    contexts: Count = key("held-out contexts, a multiple of batch_size")
    batch_size: Count = key("contexts at once")
    icl_early: Range | None = key(
        "ICL score = loss at late minus loss at early positions; early: from, up to but without; null: none",
        unit="positions", default=None,
    )  # fmt: skip
    icl_late: Range | None = key(
        "late: from, up to but without", unit="positions", default=None,
        source="arXiv 2402.02364: the 50th and the 500th of 1,024",
    )  # fmt: skip
    accuracy: bool = key(
        "also the share of predictions, and of whole contexts, that are right", default=False
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Metrics":
        in_whole_batches(self.contexts, self.batch_size)
        if (self.icl_early is None) != (self.icl_late is None):
            raise ValueError("give both icl_early and icl_late, or neither")
        return self


class _OnContexts(Section):
    """Held-out contexts, the first of those that ``metrics`` reads."""

    contexts: Count = key("held-out contexts, a multiple of batch_size; those of metrics, if as many")
    batch_size: Count = key("contexts at once")
    distributions: Distinct[Name] | None = key("null: all of the experiment's", min_length=1, default=None)

    @model_validator(mode="after")
    def _whole_batches(self) -> "_OnContexts":
        in_whole_batches(self.contexts, self.batch_size)
        return self


class Ngrams(_OnContexts):
    """Bigram score, and losses on common n-grams."""

    vocabulary: int = key(
        "entries of the larger tokenizer whose entries are the n-grams", ge=257, default=8192,
        source="arXiv 2402.02364: 50,257",
    )  # fmt: skip
    per_order: Count = key("n-grams of each length", source="arXiv 2402.02364: 1,000", default=1000)
    text_blocks: Count = key("training contexts that it is learnt on", unit="contexts", default=10000)


class Positions(_OnContexts):
    """Loss without W_pos, and the principal components of W_pos."""

    at: Distinct[Step] = key(
        "positions whose losses are kept, those that a context has", min_length=1, default=BY_POSITION
    )


def _ngrams_checks(place: str, work: Work[Ngrams]) -> Iterator[str]:
    if work.experiment.task != "language":
        yield f"{place}: n-grams are of text; set `ngrams: null`"


def _passes(number: int) -> Callable[[Work[_OnContexts]], Cost]:
    """So many forward passes over the contexts."""

    def cost(work: Work[_OnContexts]) -> Cost:
        seconds = number * len(work.steps) * work.forward(work.section.contexts, None)
        return Cost(2 * START + seconds, 900 + 8 * work.logits(work.section.batch_size, None))

    return cost


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
    tokens = work.known_tokens
    if tokens is None or not section.icl_early:
        return
    for name in ("icl_early", "icl_late"):
        first, end = getattr(section, name)
        if not first < end <= tokens.predictions:
            yield (
                f"{place}.{name}: {[first, end]} is no range of the {tokens.predictions} "
                "predictions of a context"
            )


def _cost(work: Work[Metrics]) -> Cost:
    section = work.section
    seconds = len(work.steps) * work.forward(section.contexts, None)
    return Cost(START + seconds, 900 + 8 * work.logits(section.batch_size, None))


ROWS = (
    Measure(
        name="metrics",
        section=Metrics,
        about="losses, in-context learning score, accuracy, weight norm",
        kernel="rllc.measures.metrics:metrics",
        variables={
            "loss": Variable("loss, mean over all positions", NATS),
            "loss_by_position": Variable(
                "loss of the prediction made at a position",
                NATS,
                ("position",),
                optional="where there are positions",
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
            ),
            "accuracy": Variable(
                "share of predictions whose likeliest token is the target", "1", optional="where asked for"
            ),
            "sequence_accuracy": Variable(
                "share of contexts in which every prediction is right", "1", optional="where asked for"
            ),
        },
        cost=_cost,
        checks=_checks,
    ),
    Measure(
        name="ngrams",
        section=Ngrams,
        about="bigram score and its bound, losses on common n-grams",
        kernel="rllc.measures.ngrams:ngrams",
        variables={
            "bigram_score": Variable("cross-entropy of the predictions against bigrams of the text", NATS),
            "bigram_entropy": Variable("entropy of these bigrams, the least bigram score", NATS),
            "bigram_excess": Variable("bigram score less its entropy", NATS),
            "ngram_loss": Variable("loss on the last token of common n-grams", NATS, ("n",)),
            "ngram_baseline": Variable("loss on text at the same position", NATS, ("n",)),
            "ngram_score": Variable("baseline over loss of n-grams", "1", ("n",)),
        },
        cost=_passes(3),
        checks=_ngrams_checks,
        requires=("positions", "tokens"),
        reads=("tokenizer",),
    ),
    Measure(
        name="positions",
        section=Positions,
        about="loss without W_pos, and principal components of W_pos",
        kernel="rllc.measures.positions:positions",
        variables={
            "loss": Variable("loss, mean over all positions", NATS),
            "ablated_loss": Variable("loss with zeros for W_pos, mean over all positions", NATS),
            "position_gain": Variable("loss with zeros for W_pos less the loss", NATS),
            "loss_at": Variable("loss of the prediction made at a position", NATS, ("at",)),
            "ablated_loss_at": Variable("the same with zeros for W_pos", NATS, ("at",)),
            "position_score": Variable(
                "score of a row of W_pos on a principal component", "1", ("component", "position")
            ),
            "explained_variance": Variable(
                "share of the variance of W_pos of a principal component", "1", ("component",)
            ),
            "position_norm": Variable("norm of a row of W_pos", "1", ("position",)),
        },
        cost=_passes(2),
        requires=("positions", "tokens"),
    ),
)
