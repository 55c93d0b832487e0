"""Weights and attention of the transformers that learn regression: config and spec."""

from collections.abc import Iterator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.regression import figure, law, of_the_task
from rllc.study.specs import MeasureSpec, Variable, Work


class Structure(ConfigModel):
    """Spectra and layer norms of the weights, and attention."""

    sequences: int = config_field("sequences that attention is a mean over", ge=2)


def _of_the_family(place: str, work: Work[Structure]) -> Iterator[str]:
    yield from of_the_task(place, work)
    if work.experiment.model.family != "in_context":
        family = work.experiment.model.family
        yield f"{place}: reads the weights of the family in_context, not {family}; set it to null"


def _attention(of: str, *dims: str) -> Variable:
    return Variable(of, "1", ("head", *(dims or ("query",))))


def _norm(word: str, several: str) -> dict[str, Variable]:
    of = {
        "mean": "mean of the {}",
        "sd": "standard deviation of the {}",
        "small": "share below 0.1 among the {}",
    }
    return {
        f"norm_{word}_{name}": Variable(long.format(f"{several} of a layer norm"), "1", ("norm",))
        for name, long in of.items()
    }


MEASURE = MeasureSpec(
    name="structure",
    section=Structure,
    about="embeddings, layer norms, unembedding and attention of a model of regression",
    kernel="rllc.measures.structure.kernel:structure",
    variables={
        "embedding_share": Variable("squared singular values of W_E over their sum", "1", ("direction",)),
        "position_share": Variable(
            "squared singular values of W_pos over their sum", "1", ("position_direction",)
        ),
        "embedding_rank": Variable("exp of the entropy of the shares of W_E", "1"),
        "position_rank": Variable("exp of the entropy of the shares of W_pos", "1"),
        "alignment": Variable(
            "share of the length of a row of W_E within the first directions of W_pos",
            "1",
            ("subspace", "coordinate"),
        ),
        "alignment_mean": Variable("alignment, mean over rows", "1", ("subspace",)),
        "position_top": Variable("the three largest shares of W_pos together", "1"),
        **_norm("weight", "weights"),
        **_norm("bias", "biases"),
        "unembed_norm_weight": Variable("weight of the last layer norm", "1", ("channel",)),
        "unembed_norm_bias": Variable("bias of the last layer norm", "1", ("channel",)),
        "unembed_weight": Variable("component 0 of W_U", "1", ("channel",)),
        "unembed_bias": Variable("component 0 of b_U", "1"),
        "effective_weight": Variable("component 0 of W_U times the norm's weight", "1", ("channel",)),
        "effective_bias": Variable("component 0 of W_U times the norm's bias", "1", ("channel",)),
        "attention_entropy": _attention("entropy of attention over the log of the number of keys"),
        "attention_variability": _attention("how much attention differs between sequences"),
        "attention_self": _attention("attention to the query's own vector"),
        "attention_previous": _attention("attention to the vector before"),
        "attention_inputs": _attention("attention to all inputs"),
        "attention_answers": _attention("attention to all answers"),
        "attention_mean": _attention("mean attention over sequences", "query", "key"),
        "hard_patterns": Variable("heads and kinds of query whose attention is hard and constant", "1"),
        "hard_correlation": Variable("rank correlation of attention's entropy and variability", "1"),
        "weight_count": Variable("numbers in a weight", "1", ("weight",)),
        "residual_factor": Variable("what the residual stream is multiplied by in a block", "1"),
    },
    settings=lambda work: {**work.section.model_dump(), "law": law(work)},
    checks=_of_the_family,
    per_distribution=False,
    stream="structure",
    stream_of_seed=False,
    figures={
        "stage_fig6b": figure(
            "structure:stage_fig6b", "structure", uses=("hessian", "eigenvalues", "stages")
        ),
        "stage_figC5": figure("structure:stage_figC5", "structure"),
        "stage_figC6": figure("structure:stage_figC6", "structure"),
        "stage_figC7": figure("structure:stage_figC7", "structure"),
        "stage_figC8": figure("attention:stage_figC8", "structure"),
        "stage_figC9": figure("attention:stage_figC9", "structure"),
        "stage_figD2": figure("architecture:stage_figD2", "structure", uses=()),
        "stage_figC10": figure("attention:stage_figC10", "structure", uses=()),
    },
)
