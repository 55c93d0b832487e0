"""Bigram score, and losses on common n-grams: config and spec."""

from collections.abc import Iterator

from rllc.study.config_model import config_field
from rllc.study.contexts import OnContexts, by_block
from rllc.study.specs import MeasureSpec, Variable, Work
from rllc.study.values import Count
from rllc.units import NATS


class Ngrams(OnContexts):
    """Bigram score, and losses on common n-grams."""

    vocabulary: int = config_field(
        "entries of the larger tokenizer whose entries are the n-grams", ge=257, default=8192,
        source="arXiv 2402.02364: 50,257",
    )  # fmt: skip
    per_order: Count = config_field("n-grams of each length", source="arXiv 2402.02364: 1,000", default=1000)
    text_blocks: Count = config_field(
        "training contexts that it is learnt on", unit="contexts", default=10000
    )


def _checks(place: str, work: Work[Ngrams]) -> Iterator[str]:
    if work.experiment.task != "language":
        yield f"{place}: n-grams are of text; set `ngrams: null`"


MEASURE = MeasureSpec(
    name="ngrams",
    section=Ngrams,
    about="bigram score and its bound, losses on common n-grams",
    kernel="rllc.measures.ngrams.kernel:ngrams",
    variables={
        "bigram_score": Variable("cross-entropy of the predictions against bigrams of the text", NATS),
        "bigram_score_se": Variable(
            "standard error over contexts of the bigram score", NATS, over="contexts"
        ),
        "bigram_score_by_block": by_block("bigram score", NATS),
        "bigram_entropy": Variable("entropy of the bigrams of the text, the least bigram score", NATS),
        "bigram_entropy_se": Variable(
            "standard error over contexts of the entropy of bigrams", NATS, over="contexts"
        ),
        "bigram_excess": Variable("bigram score minus bigram_entropy", NATS),
        "bigram_excess_se": Variable("standard error over contexts of bigram_excess", NATS, over="contexts"),
        "bigram_excess_by_block": by_block("bigram score minus bigram_entropy", NATS),
        "ngram_loss": Variable("loss on the last token of common n-grams", NATS, ("n",)),
        "ngram_loss_se": Variable("standard error over n-grams of ngram_loss", NATS, ("n",)),
        "ngram_baseline": Variable("loss on text at the same position", NATS, ("n",)),
        "ngram_baseline_se": Variable("standard error over contexts of ngram_baseline", NATS, ("n",)),
        "ngram_score": Variable("baseline over loss of n-grams", "1", ("n",)),
        "ngram_score_se": Variable("standard error over n-grams and contexts of ngram_score", "1", ("n",)),
    },
    checks=_checks,
    requires=("positions", "tokens"),
    reads=("tokenizer",),
)
