"""What heads do for each other: losses where heads of certain roles are replaced. Sections and rows."""

from collections.abc import Iterator
from typing import Any

from pydantic import model_validator

from rllc.study.checks.names import refer
from rllc.study.cost import START, Cost
from rllc.study.measures.behaviour import Metrics, in_whole_batches
from rllc.study.measures.roles import HeadTypes, thresholds, typed
from rllc.study.measures.sampling import BASE_SETTING, setting
from rllc.study.rows import Analysis, FigureRow, Measure, Variable, Work
from rllc.study.section import Section, key
from rllc.study.setup import Setup
from rllc.study.values import Count, Distinct, Name, Step
from rllc.units import NATS


class Sentences(Section):
    """Sentences with round brackets."""

    unnested: Distinct[str] = key("without brackets in brackets", min_length=1)
    nested: Distinct[str] = key("with brackets in brackets", min_length=1)


class Brackets(Section):
    """Path patching from layer 0's multigram heads into the bracket head, on sentences with brackets."""

    checkpoints: Distinct[Step] | None = key(
        "where it is measured; null: everywhere", unit="steps", min_length=1, default=None
    )
    words_of: Name = key("distribution whose commonest words sentences are made of")
    words: int = key("how many of its words", ge=2, default=60)
    sentences: Sentences | None = key("of one's own; null: they are made of words", default=None)
    examples: int = key("contexts of each kind", ge=2)
    batch_size: Count = key("contexts at once")


class Icl(Section):
    """In-context learning without some of the induction heads, at the positions that ``metrics`` has."""

    checkpoints: Distinct[Step] | None = key(
        "where it is measured; null: everywhere", unit="steps", min_length=1, default=None
    )
    contexts: int = key("held-out contexts, a multiple of batch_size; those of metrics, if as many", ge=2)
    batch_size: Count = key("contexts at once")
    distributions: Distinct[Name] | None = key("null: all of the experiment's", min_length=1, default=None)

    @model_validator(mode="after")
    def _whole_batches(self) -> "Icl":
        in_whole_batches(self.contexts, self.batch_size)
        return self


class Staggered(Section):
    """When induction heads form, by their refined LLCs and by in-context learning."""

    distribution: Name = key(
        "of the refined LLC and of the score", source="arXiv 2410.02984, App. B.2.2: code"
    )


def _depth(text: str) -> int:
    """How deep round brackets are nested; 0 where there are none, or they are not balanced."""
    opened = deepest = 0
    for character in text:
        opened += (character == "(") - (character == ")")
        deepest = max(deepest, opened)
        if opened < 0:
            return 0
    return 0 if opened else deepest


def _contexts(experiment: Setup, section: Brackets) -> tuple[str, str]:
    return section.words_of, "held_out"


def _brackets_settings(work: Work[Brackets]) -> dict[str, Any]:
    return {**work.section.model_dump(exclude={"checkpoints", "words_of"}), **thresholds(work)}


def _brackets_cost(work: Work[Brackets]) -> Cost:
    """Passes over both kinds as they are and without the senders; of others only what follows layer 0."""
    section = work.section
    one = work.forward(2 * section.examples, None)
    seconds = len(work.steps) * (1.6 + 0.1 * work.heads) * one
    return Cost(2 * START + seconds, 900 + 8 * work.logits(section.batch_size, None))


def _brackets_checks(place: str, work: Work[Brackets]) -> Iterator[str]:
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


def _icl_settings(work: Work[Icl]) -> dict[str, Any]:
    section, metrics = work.section, work.experiment.need(Metrics)
    own = section.model_dump(exclude={"checkpoints", "distributions"})
    return {**own, "early": metrics.icl_early, "late": metrics.icl_late, **thresholds(work)}


def _icl_cost(work: Work[Icl]) -> Cost:
    """Two passes; what follows of a head of the last layer is little beside them."""
    section = work.section
    seconds = 1.5 * len(work.steps) * work.forward(section.contexts, None)
    return Cost(START + seconds, 900 + 8 * work.logits(section.batch_size, None))


def _icl_checks(place: str, work: Work[Icl]) -> Iterator[str]:
    metrics = work.experiment.get(Metrics)
    yield from typed(place, work)
    if metrics is None or metrics.icl_early is None:
        yield f"{place}: the score is that of metrics; give metrics with icl_early and icl_late"


def _staggered_checks(place: str, work: Work[Staggered]) -> Iterator[str]:
    experiment, name = work.experiment, work.section.distribution
    sampling, icl = setting(experiment, BASE_SETTING, "heads"), experiment.get(Icl)
    if not (icl and experiment.get(HeadTypes) and sampling):
        yield f"{place}: it is of icl, head_types and sampling.heads; give all three"
        return
    for dataset, section in (("rllc", sampling), ("icl", icl)):
        known = section.distributions or experiment.distributions
        yield from refer(f"{place}.distribution", name, known, f"distribution of {dataset}.nc")


def _of_condition(long_name: str) -> Variable:
    return Variable(long_name, NATS, ("brackets", "condition", "closers"))


def _of_receiver(long_name: str) -> Variable:
    return Variable(long_name, NATS, ("head", "brackets", "closers"))


ROWS = (
    Measure(
        name="brackets",
        section=Brackets,
        about="path patching from multigram heads of layer 0 into the bracket head",
        kernel="rllc.measures.brackets:brackets",
        variables={
            "loss": _of_condition("loss on brackets that close"),
            "loss_se": _of_condition("standard error over contexts of the loss"),
            "rise": _of_condition("the same less that of the model as it is"),
            "rise_se": _of_condition("standard error over contexts of the difference"),
            "rise_into": _of_receiver("loss patched into this head alone less that of the model as it is"),
            "rise_into_se": _of_receiver("standard error over contexts of that difference"),
            "closers_scored": Variable("brackets that are scored", "1", ("brackets", "closers")),
            "members": Variable("heads in the role, by the last checkpoint", "1", ("role",)),
        },
        settings=_brackets_settings,
        cost=_brackets_cost,
        checks=_brackets_checks,
        requires=("heads", "attention"),
        reads=("tokenizer",),
        after=("heads", "tokens"),
        contexts=_contexts,
        per_distribution=False,
        stream="brackets",
        stream_of_seed=False,
        figures={
            "rllc_fig6_dyck_path_patching": FigureRow(
                "rllc.figures.heads.brackets:rllc_fig6_dyck_path_patching", ("brackets",)
            )
        },
    ),
    Measure(
        name="icl",
        section=Icl,
        about="in-context learning score without some of the induction heads",
        kernel="rllc.measures.icl:icl",
        variables={
            "icl_score": Variable(
                "loss late in the context minus loss early, with heads ablated", NATS, ("ablated",)
            ),
            "icl_score_se": Variable("standard error of it over contexts", NATS, ("ablated",)),
            "icl_left": Variable("score with heads ablated over the plain one", "1", ("ablated",)),
            "icl_left_se": Variable("standard error of it over contexts", "1", ("ablated",)),
        },
        settings=_icl_settings,
        cost=_icl_cost,
        checks=_icl_checks,
        requires=("heads", "positions", "tokens"),
        after=("heads",),
        figures={
            "rllc_fig10_staggered_induction": FigureRow(
                "rllc.figures.heads.staggered:rllc_fig10_staggered_induction",
                ("icl", "rllc"),
                ("heads", "components"),
            )
        },
    ),
)
ANALYSES: tuple[Analysis, ...] = (
    Analysis(
        name="path_patching",
        of=lambda experiment: experiment.get(Brackets),
        about="what of patching is left, when it begins and whether it passes, for claims",
        function="rllc.analysis.path_patching:path_patching",
        settings=lambda work: {},
        variables={
            "ablated_least": Variable(
                "loss that ablating the bracket head adds, the smaller of both kinds", NATS, ("step",)
            ),
            "path": Variable("loss that patching adds", NATS, ("step", "brackets")),
            "path_onset": Variable(
                "loss that patching adds on nested brackets where induction begins, over that now",
                "1",
                ("step",),
            ),
            "path_share": Variable(
                "loss that patching adds, over that of ablating the bracket head", "1", ("step", "brackets")
            ),
            "path_transient": Variable(
                "largest loss that patching has added so far, over that now", "1", ("step", "brackets")
            ),
            "ablated_least_se": Variable("standard error of it", NATS, ("step",)),
            "path_se": Variable("standard error of it", NATS, ("step", "brackets")),
            "path_onset_se": Variable("standard error of it", "1", ("step",)),
            "path_share_se": Variable("standard error of it", "1", ("step", "brackets")),
            "path_transient_se": Variable("standard error of it", "1", ("step", "brackets")),
        },
        reads=("brackets", "heads"),
        local=True,
    ),
    Analysis(
        name="staggered",
        section=Staggered,
        about="when induction heads form, by their refined LLCs and by in-context learning",
        function="rllc.analysis.staggered:staggered",
        variables={
            name: Variable(words, unit, ("step",))
            for name, words, unit in (
                ("spread", "log2 of the latest over the earliest peak of induction heads", "octaves"),
                ("same_order", "whether peaks and falls of the score have one order", "1"),
                ("drop_at_peak", "largest distance of a head's peak from its fall of the score", "octaves"),
                ("joint_drop_at_peak", "distance of the joint peak from the plain fall", "octaves"),
                ("icl_left", "score without induction heads over the plain one", "1"),
                ("icl_left_se", "standard error of it", "1"),
            )
        },
        reads=("icl", "rllc", "heads"),
        uses=("components",),
        checks=_staggered_checks,
        local=True,
    ),
)
