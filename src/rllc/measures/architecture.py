"""What kernels of attention heads read of a model beside the functions that every model has."""

from typing import cast

from rllc.models.model import Model, ModelWithHeads
from rllc.models.transformer import Architecture


def with_heads(model: Model) -> ModelWithHeads:
    """Return the model. Raises TypeError where outputs of its heads cannot be read and replaced."""
    if not hasattr(type(model), "forward_pass"):
        raise TypeError(
            f"{_named(model)} has no attention heads that this measure can read: expected a "
            "transformer of tokens; leave the measure out"
        )
    return cast(ModelWithHeads, model)


def has_circuits(model: Model) -> bool:
    """Return whether products of the model's matrices are its QK and OV circuits."""
    return isinstance(getattr(model, "architecture", None), Architecture)


def architecture_of(model: Model, needs: str = "QK and OV circuits") -> Architecture:
    """Return the architecture of an attention-only transformer. Raises TypeError for any other model.

    needs  what the measure reads of it, for the error
    """
    architecture = getattr(model, "architecture", None)
    if not isinstance(architecture, Architecture):
        reason = getattr(model, "beside_attention", "it is no transformer of tokens")
        raise TypeError(
            f"{_named(model)} has no {needs} ({reason}): this measure expects an attention-only transformer "
            "(rllc.AttentionOnly); leave it out"
        )
    return architecture


def position_embedding_of(model: Model) -> tuple[str, int]:
    """Return the name of the weights of learned positions, and the number of positions, their last rows.

    Raises TypeError where the model learns no position embedding.
    """
    name = getattr(model, "position_embedding", None)
    if name is None:
        raise TypeError(
            f"{_named(model)} has no table of position embeddings: this measure expects learned positions; "
            "leave it out"
        )
    longest = with_heads(model).longest
    assert longest is not None  # a table is finite
    return name, longest


def _named(model: Model) -> str:
    return getattr(model, "name", f"a {type(model).__name__}")
