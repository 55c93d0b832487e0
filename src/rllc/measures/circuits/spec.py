"""Full QK and OV circuits of heads that read numbers: config and spec."""

from collections.abc import Iterator
from typing import Any

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import START, Cost
from rllc.study.families import FLOPS
from rllc.study.specs import MeasureSpec, Variable, Work
from rllc.study.tasks import ListTokens, SumTokens
from rllc.study.values import Share


class Circuits(ConfigModel):
    """The full QK and OV circuits of every head, and what is read off them; of models that read numbers."""

    rank_tolerance: Share | None = config_field(
        "singular values up to this share of the largest count as zero; null: as torch.linalg.matrix_rank",
        default=None,
    )


def _numbers(work: Work[Circuits]) -> ListTokens | SumTokens:
    """Return the section of tokens that are numbers, of which circuits are measured."""
    assert isinstance(work.tokenizer, ListTokens | SumTokens)
    return work.tokenizer


def _cost(work: Work[Circuits]) -> Cost:
    vocabulary = _numbers(work).vocabulary
    circuits = len(work.steps) * work.heads
    seconds = circuits * 20 * vocabulary**3 / FLOPS
    return Cost(START + seconds, disk_bytes=8.0 * circuits * vocabulary**2)


def _settings(work: Work[Circuits]) -> dict[str, Any]:
    """The numbers are the first tokens. Answers of sums are outputs; a separator is left out."""
    tokens = _numbers(work)
    answers = list(tokens.answers) if isinstance(tokens, SumTokens) else []
    return {"tokens": tokens.numbers, "answers": answers, **work.section.model_dump()}


def _checks(place: str, work: Work[Circuits]) -> Iterator[str]:
    if work.experiment.task not in ("sorting", "cumulative_sum") or work.experiment.model.n_layers != 1:
        yield f"{place}: full circuits are of one layer that reads numbers; set `circuits: null`"


OF_LISTS = "of lists"  # not of sums, whose OV circuits end at answers


def _token_pairs(long_name: str, optional: str = "") -> Variable:
    return Variable(long_name, "1", ("head", "token", "other_token"), optional=optional)


MEASURE = MeasureSpec(
    name="circuits",
    section=Circuits,
    about="full QK and OV circuits of every head, and what is read off them",
    kernel="rllc.measures.circuits.kernel:circuits",
    variables={
        "qk": _token_pairs("full QK circuit, query token by key token"),
        "ov": _token_pairs("full OV circuit, source token by output token", OF_LISTS),
        "ov_answers": Variable(
            "full OV circuit, source token by answer", "1", ("head", "token", "answer"), optional="of sums"
        ),
        "rank": Variable("matrix rank of the circuit", "1", ("head", "circuit")),
        "effective_rank": Variable(
            "exponential of the entropy of the normalised singular values", "1", ("head", "circuit")
        ),
        "symmetry": Variable(
            "translational symmetry of the circuit",
            "1",
            ("head", "circuit", "normalisation"),
            optional=OF_LISTS,
        ),
        "overlap": Variable(
            "overlap of the circuits of two heads",
            "1",
            ("pair", "circuit"),
            optional="of lists, of two heads or more",
        ),
        "token_head": Variable(
            "index in the layer of the head with the largest OV diagonal entry of the token",
            "1",
            ("token",),
            optional=OF_LISTS,
        ),
        "vocabulary_share": Variable(
            "share of the tokens at which the head has the largest OV diagonal entry",
            "1",
            ("head",),
            optional=OF_LISTS,
        ),
        "anti_state": Variable(
            "correlation of the OV circuit with minus the sum of the other heads'",
            "1",
            ("head",),
            optional=OF_LISTS,
        ),
        "rank_sum": Variable("sum of the matrix ranks of all circuits", "1"),
        "effective_rank_sum": Variable("sum of the effective ranks of all circuits", "1"),
        "translational_symmetry": Variable(
            "translational symmetry over mean |W|, sum over all circuits", "1", optional=OF_LISTS
        ),
        "translational_symmetry_mean": Variable(
            "translational symmetry over mean |W|, mean over all circuits", "1", optional=OF_LISTS
        ),
        "head_overlap": Variable(
            "overlap of heads, mean over pairs and both circuits", "1", optional=OF_LISTS
        ),
        "regions": Variable(
            "runs of neighbouring tokens with the same head, single tokens counted", "1", optional=OF_LISTS
        ),
        "regions_min3": Variable(
            "regions of at least 3 tokens that heads divide the vocabulary into", "1", optional=OF_LISTS
        ),
    },
    settings=_settings,
    cost=_cost,
    checks=_checks,
    requires=("heads", "circuits"),
    per_distribution=False,
    gpu=False,
)
