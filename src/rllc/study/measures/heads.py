"""What heads do: attention scores, ablation, circuits, what a change of the data does. Sections and rows."""

from collections.abc import Iterator
from typing import Any

from pydantic import model_validator

from rllc.study.checks.names import refer
from rllc.study.cost import START, Cost
from rllc.study.families import FLOPS, AttentionOnly
from rllc.study.measures.behaviour import in_whole_batches
from rllc.study.measures.roles import HeadTypes
from rllc.study.measures.sampling import BASE_SETTING, setting
from rllc.study.rows import Analysis, FigureRow, Finish, Measure, Variable, Work
from rllc.study.section import Section, key
from rllc.study.tasks import ListTokens
from rllc.study.values import RLLC, Count, Distinct, Name, Share
from rllc.units import NATS


class Ablation(Section):
    """Zero, mean and resample ablation of every head."""

    contexts: int = key("contexts, a multiple of batch_size", ge=2)
    batch_size: int = key("contexts at once", ge=2)
    distributions: Distinct[Name] | None = key("null: all of the experiment's", min_length=1, default=None)

    @model_validator(mode="after")
    def _whole_batches(self) -> "Ablation":
        in_whole_batches(self.contexts, self.batch_size)
        return self


class Heads(Section):
    """Attention scores on random token sequences."""

    sequences: Count = key("sequences", source="arXiv 2402.02364, App. B: 10,000")
    length: int = key("tokens in a sequence", ge=16, source="arXiv 2402.02364, App. B: 128")


class Circuits(Section):
    """The full QK and OV circuits of every head, and what is read off them; of models that sort."""

    rank_tolerance: Share | None = key(
        "singular values up to this share of the largest count as zero; null: as torch.linalg.matrix_rank",
        default=None,
    )


class Refinement(Section):
    """What a change of the data does to induction and multigram heads."""

    distribution: Name = key("whose estimates are divided", source=f"{RLLC}, section 4.2: code")
    against: Distinct[Name] = key(
        "by whose", min_length=1, source=f"{RLLC}, section 4.2: the pretraining distribution"
    )


class Kcomposition(Section):
    """How K-composition of multigram heads of both layers moves over training, for claims."""


def _kcomposition_checks(place: str, work: Work[Kcomposition]) -> Iterator[str]:
    experiment = work.experiment
    if not experiment.get(Heads) or not experiment.get(HeadTypes) or experiment.model.n_layers < 2:
        yield f"{place}: it is of types of heads in two layers; give heads and head_types, or set it to null"


def _ablation_cost(work: Work[Ablation]) -> Cost:
    section = work.section
    one = work.forward(section.contexts, None)
    seconds = len(work.steps) * (3 * work.heads + 2) * one
    return Cost(START + seconds, 900 + 8 * work.logits(section.batch_size, None))


def _heads_cost(work: Work[Heads]) -> Cost:
    section = work.section
    one = work.forward(section.sequences, None, length=section.length)
    return Cost(START + len(work.steps) * 3 * one)


def _heads_checks(place: str, work: Work[Heads]) -> Iterator[str]:
    experiment, length = work.experiment, work.section.length
    if experiment.task != "language":
        yield f"{place}: attention scores are measured on text tokens; set `heads: null`"
    if isinstance(experiment.model, AttentionOnly) and length > experiment.model.n_ctx:
        yield f"{place}.length: {length} exceeds n_ctx {experiment.model.n_ctx}"


def _numbers(work: Work[Circuits]) -> ListTokens:
    """Return the section of tokens that are numbers, of which circuits are measured."""
    assert isinstance(work.tokens, ListTokens)
    return work.tokens


def _circuits_cost(work: Work[Circuits]) -> Cost:
    vocabulary = _numbers(work).vocabulary
    circuits = len(work.steps) * work.heads
    seconds = circuits * 20 * vocabulary**3 / FLOPS
    return Cost(START + seconds, disk_bytes=8.0 * circuits * vocabulary**2)


def _circuits_settings(work: Work[Circuits]) -> dict[str, Any]:
    """The numbers are the first tokens: separators and answers are left out."""
    return {"tokens": _numbers(work).numbers, **work.section.model_dump()}


def _circuits_checks(place: str, work: Work[Circuits]) -> Iterator[str]:
    if work.experiment.task != "sorting" or work.experiment.model.n_layers != 1:
        yield f"{place}: full circuits are of one layer that sorts; set `circuits: null`"


def _refinement_checks(place: str, work: Work[Refinement]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    sampling = setting(experiment, BASE_SETTING, "heads")
    if not sampling or not experiment.get(Heads) or not experiment.get(HeadTypes):
        yield f"{place}: it is of rLLC curves by type of head; give sampling.heads, heads and head_types"
        return
    curves = sampling.distributions or experiment.distributions
    yield from refer(f"{place}.distribution", section.distribution, curves, "distribution of rllc.nc")
    for name in section.against:
        yield from refer(f"{place}.against", name, curves, "distribution of rllc.nc")
        if name == section.distribution:
            yield f"{place}.against: {name} is compared with itself; take it out"


def _token_pairs(long_name: str) -> Variable:
    return Variable(long_name, "1", ("head", "token", "other_token"))


ROWS = (
    Measure(
        name="ablation",
        section=Ablation,
        about="zero, mean and resample ablation of every head",
        kernel="rllc.measures.ablation:ablation",
        variables={
            "ablation": Variable("loss after ablating a head minus loss before", NATS, ("head", "method"))
        },
        cost=_ablation_cost,
        requires=("heads",),
        stream="ablation",
        figures={
            "rllc_fig17_ablations": FigureRow(
                "rllc.figures.heads.ablations:rllc_fig17_ablations", ("ablation",), ("heads",), "baselines"
            )
        },
    ),
    Measure(
        name="heads",
        section=Heads,
        about="attention scores of every head on random tokens; Q-, K- and V-composition",
        kernel="rllc.measures.heads:heads",
        variables={
            "previous_token": Variable("attention to the previous token", "1", ("head",)),
            "current_token": Variable("attention to the current token", "1", ("head",)),
            "prefix_matching": Variable(
                "attention from the second A to the token after the first A", "1", ("head",)
            ),
            "prefix_matching_literal": Variable("attention from the second A to the first A", "1", ("head",)),
            "q_composition": Variable("Q-composition score", "1", ("head", "later_head")),
            "k_composition": Variable("K-composition score", "1", ("head", "later_head")),
            "v_composition": Variable("V-composition score", "1", ("head", "later_head")),
            "repeat_gap": Variable("loss on the second copy of a repeated sequence minus the first", NATS),
        },
        cost=_heads_cost,
        checks=_heads_checks,
        requires=("heads", "attention"),
        reads=("tokenizer",),
        per_distribution=False,
        stream="patterns",
        stream_of_seed=False,
        finish=Finish(
            function="rllc.analysis.head_types:head_types",
            variables={
                "head_type": Variable(
                    "type of the head by its attention scores at the last checkpoint",
                    "1",
                    ("head",),
                    "where asked for",
                )
            },
            name="head_types",
            section=HeadTypes,
            about="types of heads",
            settings=lambda section: {"thresholds": section.model_dump()},
        ),
        figures={
            "rllc_fig7_kcomposition": FigureRow(
                "rllc.figures.heads.composition:rllc_fig7_kcomposition", ("heads",)
            )
        },
    ),
    Measure(
        name="circuits",
        section=Circuits,
        about="full QK and OV circuits of every head, and what is read off them",
        kernel="rllc.measures.circuits:circuits",
        variables={
            "qk": _token_pairs("full QK circuit, query token by key token"),
            "ov": _token_pairs("full OV circuit, source token by output token"),
            "rank": Variable("matrix rank of the circuit", "1", ("head", "circuit")),
            "effective_rank": Variable(
                "exponential of the entropy of the normalised singular values", "1", ("head", "circuit")
            ),
            "symmetry": Variable(
                "translational symmetry of the circuit", "1", ("head", "circuit", "normalisation")
            ),
            "overlap": Variable(
                "overlap of the circuits of two heads",
                "1",
                ("pair", "circuit"),
                optional="of two heads or more",
            ),
            "token_head": Variable(
                "index in the layer of the head with the largest OV diagonal entry of the token",
                "1",
                ("token",),
            ),
            "vocabulary_share": Variable(
                "share of the tokens at which the head has the largest OV diagonal entry", "1", ("head",)
            ),
            "anti_state": Variable(
                "correlation of the OV circuit with minus the sum of the other heads'", "1", ("head",)
            ),
            "rank_sum": Variable("sum of the matrix ranks of all circuits", "1"),
            "effective_rank_sum": Variable("sum of the effective ranks of all circuits", "1"),
            "translational_symmetry": Variable(
                "translational symmetry over mean |W|, sum over all circuits", "1"
            ),
            "translational_symmetry_mean": Variable(
                "translational symmetry over mean |W|, mean over all circuits", "1"
            ),
            "head_overlap": Variable("overlap of heads, mean over pairs and both circuits", "1"),
            "regions": Variable("runs of neighbouring tokens with the same head, single tokens counted", "1"),
            "regions_min3": Variable(
                "regions of at least 3 tokens that heads divide the vocabulary into", "1"
            ),
        },
        settings=_circuits_settings,
        cost=_circuits_cost,
        checks=_circuits_checks,
        requires=("heads", "circuits"),
        per_distribution=False,
        gpu=False,
    ),
)
ANALYSES = (
    Analysis(
        name="refinement",
        section=Refinement,
        about="how much larger induction and multigram heads are on one distribution than on others",
        function="rllc.analysis.refinement:refinement",
        variables={
            "log2_ratio": Variable("", "", ("step", "head_group", "against")),
            "log2_ratio_se": Variable("", "", ("step", "head_group", "against")),
            "log2_ratio_gradient_off": Variable("", "", ("step", "head_group", "against")),
            "log2_ratio_gradient_off_se": Variable("", "", ("step", "head_group", "against")),
            "verdict": Variable("", "", ("step", "head_group", "against")),
            "heads_of_group": Variable("", "", ("head_group",)),
        },
        reads=("rllc", "heads"),
        checks=_refinement_checks,
        local=True,
    ),
    Analysis(
        name="kcomposition",
        section=Kcomposition,
        about="how K-composition of multigram heads of both layers moves over training",
        function="rllc.analysis.kcomposition:kcomposition",
        variables={
            "turnaround": Variable(
                "share of pairs of multigram heads whose K-composition turns", "1", ("step",)
            ),
            "coupled": Variable(
                "correlation of a multigram head's K-composition curves with two later ones", "1", ("step",)
            ),
            "coupled_less_induction": Variable("that less the same with two induction heads", "1", ("step",)),
            "current_spike": Variable(
                "peak of the current-token head's K-composition over its early mean or its end",
                "1",
                ("step",),
            ),
        },
        reads=("heads",),
        checks=_kcomposition_checks,
        local=True,
    ),
)
