"""Path patching on sentences with brackets: config and spec."""

from collections.abc import Iterator
from typing import Any

from rllc.study.checks.names import refer
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import START, Cost, evaluating
from rllc.study.roles import thresholds, typed
from rllc.study.setup import Setup
from rllc.study.specs import FigureSpec, MeasureSpec, Variable, Work
from rllc.study.values import Count, Distinct, Name, Step
from rllc.units import NATS


class Sentences(ConfigModel):
    """Sentences with round brackets."""

    unnested: Distinct[str] = config_field("without brackets in brackets", min_length=1)
    nested: Distinct[str] = config_field("with brackets in brackets", min_length=1)


class PathPatching(ConfigModel):
    """Path patching from layer 0's multigram heads into the bracket head, on sentences with brackets."""

    checkpoints: Distinct[Step] | None = config_field(
        "where it is measured; null: everywhere", unit="steps", min_length=1, default=None
    )
    words_of: Name = config_field("distribution whose commonest words sentences are made of")
    words: int = config_field("how many of its words", ge=2, default=60)
    sentences: Sentences | None = config_field("of one's own; null: they are made of words", default=None)
    examples: int = config_field("contexts of each kind", ge=2)
    batch_size: Count = config_field("contexts at once")


def _depth(text: str) -> int:
    """How deep round brackets are nested; 0 where there are none, or they are not balanced."""
    opened = deepest = 0
    for character in text:
        opened += (character == "(") - (character == ")")
        deepest = max(deepest, opened)
        if opened < 0:
            return 0
    return 0 if opened else deepest


def _contexts(experiment: Setup, section: PathPatching) -> tuple[str, str]:
    return section.words_of, "held_out"


def _settings(work: Work[PathPatching]) -> dict[str, Any]:
    return {**work.section.model_dump(exclude={"checkpoints", "words_of"}), **thresholds(work)}


def _cost(work: Work[PathPatching]) -> Cost:
    """Passes over both kinds as they are and without the senders; of others only what follows layer 0."""
    section = work.section
    one = work.forward(2 * section.examples, None)
    seconds = len(work.steps) * (1.6 + 0.1 * work.heads) * one
    return Cost(2 * START + seconds, evaluating(work.logits(section.batch_size, None)))


def _checks(place: str, work: Work[PathPatching]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    if experiment.task != "language":
        yield f"{place}: brackets are in text; set it to null"
        return
    yield from typed(place, work)
    if experiment.model.n_layers < 2:
        yield f"{place}: paths lead from layer 0 into a later one, and there is one layer; set it to null"
    names = experiment.distributions
    yield from refer(f"{place}.words_of", section.words_of, names, "distribution of this experiment")
    if work.is_taught(section.words_of):
        yield f"{place}.words_of: '{section.words_of}' is a model's predictions; name a distribution of text"
    own = section.sentences.model_dump() if section.sentences else {}
    for kind, texts in own.items():
        for text in texts:
            if (depth := _depth(text)) == 0 or (depth > 1) != (kind == "nested"):
                said = (
                    "are nested" if depth > 1 else "are not nested" if depth else "are absent or not balanced"
                )
                yield f"{place}.sentences.{kind}: the round brackets of {text!r} {said}; correct it"


def _of_condition(long_name: str, over: str = "") -> Variable:
    return Variable(long_name, NATS, ("brackets", "condition", "closers"), over=over)


def _of_receiver(long_name: str, over: str = "") -> Variable:
    return Variable(long_name, NATS, ("head", "brackets", "closers"), over=over)


MEASURE = MeasureSpec(
    name="path_patching",
    section=PathPatching,
    about="path patching from multigram heads of layer 0 into the bracket head",
    kernel="rllc.measures.path_patching.kernel:path_patching",
    variables={
        "loss": _of_condition("loss on brackets that close"),
        "loss_se": _of_condition("standard error over contexts of the loss", over="examples"),
        "rise": _of_condition("loss on brackets that close, minus that of the model as it is"),
        "rise_se": _of_condition("standard error over contexts of rise", over="examples"),
        "rise_into": _of_receiver("loss patched into this head alone minus that of the model as it is"),
        "rise_into_se": _of_receiver("standard error over contexts of rise_into", over="examples"),
        "closers_scored": Variable("brackets that are scored", "1", ("brackets", "closers")),
        "members": Variable("heads in the role, by the last checkpoint", "1", ("role",)),
    },
    settings=_settings,
    cost=_cost,
    checks=_checks,
    requires=("heads", "attention", "circuits"),
    reads=("tokenizer",),
    after=("attention_scores", "tokens"),
    reads_contexts_of=_contexts,
    per_distribution=False,
    stream="brackets",
    stream_of_seed=False,
    figures={
        "rllc_fig6_dyck_path_patching": FigureSpec(
            "rllc.measures.path_patching.figure:rllc_fig6_dyck_path_patching",
            ("path_patching",),
            behind=("stages",),
        )
    },
)
