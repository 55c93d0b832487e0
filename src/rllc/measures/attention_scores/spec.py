"""Attention scores of heads, and their composition: config and spec."""

from collections.abc import Iterator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.contexts import by_block
from rllc.study.cost import START, Cost
from rllc.study.families import AttentionOnly
from rllc.study.huggingface.sections import HuggingFace
from rllc.study.precise import keywords, known_steps, precise_at_field, precise_field, units
from rllc.study.roles import HeadTypes
from rllc.study.specs import FigureSpec, Finish, MeasureSpec, Variable, Work
from rllc.study.values import Count, Distinct, Step
from rllc.units import NATS


class AttentionScores(ConfigModel):
    """Attention scores on random token sequences."""

    sequences: Count = config_field("sequences", source="arXiv 2402.02364, App. B: 10,000")
    length: int = config_field("tokens in a sequence", ge=16, source="arXiv 2402.02364, App. B: 128")
    precise: int | None = precise_field("sequences")
    precise_at: Distinct[Step] | None = precise_at_field()


def _cost(work: Work[AttentionScores]) -> Cost:
    section = work.section
    counts = units(work, section.sequences)
    # plain, matching and repeated sequences
    return Cost(START + 3 * sum(work.forward(count, None, length=section.length) for count in counts))


def _checks(place: str, work: Work[AttentionScores]) -> Iterator[str]:
    experiment, length = work.experiment, work.section.length
    yield from known_steps(place, work)
    if experiment.task != "language":
        yield (
            f"{place}: attention scores need a language task, from whose tokens random sequences are drawn; "
            "set `attention_scores: null`"
        )
    model = experiment.model
    if isinstance(model, AttentionOnly) and length > model.n_ctx:
        yield f"{place}.length: {length} exceeds n_ctx {model.n_ctx}"
    if isinstance(model, HuggingFace) and length > (model.shape.longest or length):
        yield f"{place}.length: {length} exceeds the {model.shape.longest} positions of the model"


SCORES = ("previous_token", "current_token", "prefix_matching", "prefix_matching_literal")
GROUPS = "with groups of heads"
CIRCUITS = "with circuits"  # of families that have them


def _score(long_name: str, over: str = "") -> Variable:
    return Variable(long_name, "1", ("head",), over=over)


def _by_member(score: str) -> Variable:
    return Variable(f"{score} of each head of a group", "1", ("head", "member"), optional=GROUPS)


MEASURE = MeasureSpec(
    name="attention_scores",
    section=AttentionScores,
    about="attention scores of every head on random tokens; Q-, K- and V-composition",
    kernel="rllc.measures.attention_scores.kernel:attention_scores",
    variables={
        "previous_token": _score("attention to the previous token"),
        "previous_token_se": _score(
            "standard error over sequences of the attention to the previous token", over="sequences"
        ),
        "previous_token_by_block": by_block(
            "attention to the previous token", "1", ("head",), of="random sequences"
        ),
        "current_token": _score("attention to the current token"),
        "current_token_se": _score(
            "standard error over sequences of the attention to the current token", over="sequences"
        ),
        "prefix_matching": _score(
            "attention from the second occurrence of a token to the token after its first occurrence"
        ),
        "prefix_matching_se": _score("standard error over sequences of prefix_matching", over="sequences"),
        "prefix_matching_by_block": by_block("prefix_matching", "1", ("head",), of="random sequences"),
        "prefix_matching_literal": _score(
            "attention from the second occurrence of a token to its first occurrence"
        ),
        "prefix_matching_literal_se": _score(
            "standard error over sequences of prefix_matching_literal", over="sequences"
        ),
        **{f"{score}_by_member": _by_member(score) for score in SCORES},
        **{
            f"{letter.lower()}_composition": Variable(
                f"{letter}-composition score", "1", ("head", "later_head"), optional=CIRCUITS
            )
            for letter in "QKV"
        },
        "repeat_gap": Variable("loss on the second copy of a repeated sequence minus the first's", NATS),
        "repeat_gap_se": Variable("standard error over sequences of repeat_gap", NATS, over="sequences"),
    },
    cost=_cost,
    settings=keywords,
    checks=_checks,
    requires=("heads", "attention"),
    reads=("tokenizer",),
    per_distribution=False,
    stream="patterns",
    stream_of_seed=False,
    finish=Finish(
        function="rllc.analysis.head_types:types_with_margins",
        variables={
            "head_type": Variable(
                "type of the head by its attention scores at the last checkpoint",
                "1",
                ("head",),
                "where asked for",
            ),
            "head_type_uncertain": Variable(
                "whether a score within 2 standard errors of its threshold decides the type",
                "1",
                ("head",),
                "where asked for",
            ),
            "head_type_other": Variable(
                "type if the nearest threshold were crossed; empty where it is certain",
                "1",
                ("head",),
                "where asked for",
            ),
        },
        name="head_types",
        section=HeadTypes,
        about="types of heads",
        settings=lambda section: {"thresholds": section.model_dump()},
    ),
    figures={
        "rllc_fig7_kcomposition": FigureSpec(
            "rllc.figures.heads.composition:rllc_fig7_kcomposition",
            ("attention_scores",),
            behind=("stages",),
            requires=("circuits",),
        )
    },
)
