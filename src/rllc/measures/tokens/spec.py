"""Tokens in context, and which patterns explain what a head is for: config and spec."""

from collections.abc import Iterator
from typing import Any

from rllc.study.checks.names import refer
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import START, Cost, evaluating
from rllc.study.setup import Setup
from rllc.study.specs import FigureSpec, MeasureSpec, Variable, Work
from rllc.study.values import RLLC, Count, Distinct, Name, Share, Step
from rllc.units import NATS

LEAST = 10  # tokens kept of a head
CLASSIFY = 2.5e-4  # CPU seconds of a token in context, with its share of reading contexts


class Tokens(ConfigModel):
    """Tokens in context: where mean-ablating a head raises the loss most, and which patterns explain them."""

    checkpoints: Distinct[Step] = config_field("where it is measured", unit="steps", min_length=1)
    corpus: Name | None = config_field(
        "distribution whose held-out contexts are searched; null: contexts that are trained on", default=None
    )
    searched: Count = config_field("contexts searched", source=f"{RLLC}, App. B.1: 100,000")
    batch_size: Count = config_field("contexts at once")
    top: int = config_field("tokens kept of every head, at most", ge=LEAST, source=f"{RLLC}, App. B.1: 1,000")
    share: Share | None = config_field(
        "largest share of the searched tokens that is kept of every head; a laxer one finds fewer brackets "
        "(docs/tokens.md); null: no limit",
        source=f"{RLLC}, App. B.1: 1,000 of 1e8, 1e-5",
        default=None,
    )
    shown: int = config_field("examples kept of every pattern, with their attention", ge=1, le=10)


def _contexts(experiment: Setup, section: Tokens) -> tuple[str, str]:
    """Those that are trained on, or the held-out ones of the distribution named."""
    if section.corpus is None:
        return experiment.own_training.distribution, "train"
    return section.corpus, "held_out"


def _kept(work: Work[Tokens]) -> int:
    """Return the number of tokens kept of every head."""
    section = work.section
    if section.share is None or work.tokenizer_section is None:
        return section.top
    return min(section.top, int(section.share * section.searched * work.tokenizer.predictions))


def _settings(work: Work[Tokens]) -> dict[str, Any]:
    return work.section.model_dump(exclude={"checkpoints", "corpus", "share"}) | {"top": _kept(work)}


def _cost(work: Work[Tokens]) -> Cost:
    """A pass for the means, one for what every head attends to, and one per head and MLP."""
    section, of, top = work.section, work.components, _kept(work)
    one = work.forward(section.searched, None)
    seconds = len(work.steps) * ((of + 3) * one + 2 * of * top * CLASSIFY)
    length = work.tokenizer.context
    kept = 4e-6 * length * (2 * of * top + section.searched)
    attended = 4e-6 * section.batch_size * of * length**2
    megabytes = evaluating(work.logits(section.batch_size, None)) + 2 * (kept + attended)
    examples = of * section.shown * 6 * length * 8
    return Cost(START + seconds, megabytes, len(work.steps) * (examples + of * top * 30.0) + 2e5)


def _checks(place: str, work: Work[Tokens]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    if experiment.task != "language":
        yield f"{place}: patterns are matched in text, which this task lacks; set it to null"
        return
    tokenizer = work.tokenizer_section
    if section.corpus is None and experiment.training is None:
        yield (
            f"{place}.corpus: nothing is trained here; name the distribution whose held-out contexts "
            "are searched"
        )
    if section.corpus is not None:
        names = experiment.distributions
        yield from refer(f"{place}.corpus", section.corpus, names, "distribution of this experiment")
        if work.is_taught(section.corpus):
            yield (
                f"{place}.corpus: the targets of '{section.corpus}' are a model's predictions; "
                "name a distribution of text"
            )
    if tokenizer is None:
        return
    held_out = section.corpus is not None
    most, side = (tokenizer.held_out_blocks, "held_out") if held_out else (tokenizer.train_blocks, "train")
    if section.searched > (most or 0):
        yield (
            f"{place}.searched: {section.searched} of at most {most or 0} contexts; lower it, or raise the "
            f"tokenizer's {side}_blocks"
        )
    if section.top > section.searched * tokenizer.predictions:
        positions = section.searched * tokenizer.predictions
        yield f"{place}.top: {section.top} of the {positions} tokens that are searched; lower it"
    if _kept(work) < LEAST:
        yield (
            f"{place}.share: it keeps {_kept(work)} tokens of every head; raise it or searched until it "
            f"keeps {LEAST}, or set it to null"
        )


def _of_head(long_name: str, unit: str, *dims: str) -> Variable:
    return Variable(long_name, unit, ("head", *dims))


def _of_mlp(head: Variable) -> Variable:
    """Return the variable of an MLP that a variable of a head becomes."""
    name = f"of an MLP: {head.long_name.replace('the head', 'the MLP')}"
    return head._replace(long_name=name, dims=("mlp", *head.dims[1:]), optional="with MLPs")


ATTENTION = ("at_matched", "attended", "attention_max", "attention")  # variables that an MLP lacks
HEADS = {
    "share": _of_head("share of the head's tokens that the pattern explains", "1", "pattern"),
    "share_chance": _of_head("share of positions drawn at random that the pattern explains", "1", "pattern"),
    "unique": _of_head("different forms of the pattern", "1", "pattern"),
    "at_matched": _of_head(
        "share of the pattern's tokens at which the head attends most to what matches", "1", "pattern"
    ),
    "letterless": _of_head("share of the pattern's tokens that have no letter", "1", "pattern"),
    "common": _of_head("the commonest forms of the pattern", "1", "pattern", "order"),
    "common_count": _of_head("how often each of the commonest forms is there", "1", "pattern", "order"),
    "tokens": _of_head("tokens whose loss rises, at most as many as are kept", "1"),
    "rise_threshold": _of_head("smallest rise of a token kept", NATS),
    "multigrams": _of_head("different brackets, skip n-grams and n-grams", "1"),
    "multigrams_chance": _of_head("multigrams of positions drawn at random", "1"),
    "multigrams_half": _of_head("multigrams of random halves of the tokens", "1", "half"),
    "context": _of_head("context, counted from 0 in the file that is read", "1", "rank"),
    "position": _of_head("position at which the token is predicted", "1", "rank"),
    "target": _of_head("the token that is predicted", "1", "rank"),
    "attended": _of_head("position that the head attends to most", "1", "rank"),
    "matched": _of_head("position that the pattern refers to", "1", "rank"),
    "pattern_index": _of_head("the pattern that explains the token", "1", "rank"),
    "rise": _of_head("loss after ablating the head minus loss before", NATS, "rank"),
    "attention_max": _of_head("attention weight on the position that the head attends to most", "1", "rank"),
    "shown_rank": _of_head("rank of the example", "1", "shown"),
    "shown_token": _of_head("tokens of the example's context", "1", "shown", "place"),
    "attention": _of_head("attention of the example", "1", "shown", "place"),
}


MEASURE = MeasureSpec(
    name="tokens",
    section=Tokens,
    about="tokens in context: where ablating a head hurts most, and which patterns explain them",
    kernel="rllc.measures.tokens.kernel:tokens",
    variables=HEADS | {f"{name}_mlp": _of_mlp(each) for name, each in HEADS.items() if name not in ATTENTION},
    settings=_settings,
    cost=_cost,
    checks=_checks,
    requires=("heads", "attention"),
    reads=("tokenizer",),
    reads_contexts_of=_contexts,
    per_distribution=False,
    stream="tokens",
    figures={
        name: FigureSpec(f"rllc.figures.heads.{module}:{name}", ("tokens",), ("attention_scores",), "tokens")
        for module, name in (
            ("tokens", "rllc_fig4_tokens_in_context"),
            ("tokens", "rllc_fig9_tokens_classification"),
            ("tokens_table", "rllc_table1_head_classification"),
        )
    },
)
