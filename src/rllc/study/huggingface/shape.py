"""The shape of a model of Hugging Face, from the fields of its config. Imports no torch.

The package transformers would read these fields too, but it imports torch, which takes seconds in every plan.
``rllc.models.huggingface`` builds the model by transformers, and refuses what differs.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

# What transformers' configs call the same number.
NAMES = {
    "n_layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "n_heads": ("num_attention_heads", "n_head", "num_heads", "n_heads"),
    "d_model": ("hidden_size", "n_embd", "d_model", "dim"),
    "groups": ("num_key_value_heads", "num_kv_heads"),
    "d_mlp": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "vocabulary": ("vocab_size",),
    "longest": ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"),
}
REQUIRED = ("n_layers", "n_heads", "d_model")
GATED = ("silu", "swish", "swiglu", "gelu_pytorch_tanh")  # activations of MLPs with three matrices


class Shape(NamedTuple):
    """The shape of a causal language model.

    groups      key-value heads of a layer: ``n_heads``, unless several query heads share one
    d_mlp       width of an MLP
    matrices    matrices of an MLP: 2, or 3 with a gate
    vocabulary  rows of the embedding; None: the config does not say
    longest     positions; None: the config does not limit them
    tied        whether the unembedding is the embedding
    """

    n_layers: int
    n_heads: int
    d_model: int
    groups: int
    d_mlp: int
    matrices: int
    vocabulary: int | None
    longest: int | None
    tied: bool

    @property
    def unit(self) -> str:
        """Return the kind of component that ``heads`` samples: a head, or a group with common keys."""
        return "head" if self.groups == self.n_heads else "group"


def shape_of(fields: Mapping[str, Any]) -> Shape:
    """Return the shape that a config describes; of a model for text and images, that of its text.

    Raises ValueError where the number of layers or heads, or the width, is missing.
    """
    nested = fields.get("text_config")
    fields = {**fields, **nested} if isinstance(nested, dict) else fields
    found = {name: _first(fields, names) for name, names in NAMES.items()}
    absent = [NAMES[name][0] for name in REQUIRED if found[name] is None]
    if absent:
        raise ValueError(
            f"the config of the model (model_type {fields.get('model_type')!r}) lacks {', '.join(absent)}: "
            "add them, as whole numbers"
        )
    heads, width = found["n_heads"] or 0, found["d_model"] or 0
    shared = fields.get("multi_query") and not fields.get("new_decoder_architecture")
    activation = str(fields.get("hidden_act") or fields.get("hidden_activation") or "")
    return Shape(
        n_layers=found["n_layers"] or 0,
        n_heads=heads,
        d_model=width,
        groups=1 if shared else found["groups"] or heads,
        d_mlp=found["d_mlp"] or 4 * width,
        matrices=3 if activation in GATED else 2,
        vocabulary=found["vocabulary"],
        longest=found["longest"],
        tied=bool(fields.get("tie_word_embeddings", True)),  # transformers' default
    )


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """Return the first of the fields that holds a whole number."""
    values = (fields.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)


def weight_count(shape: Shape, vocabulary: int) -> int:
    """Return about how many weights a model has: its matrices, without biases and norms."""
    d, kept = shape.d_model, 2 + 2 * shape.groups / shape.n_heads
    layer = kept * d * d + shape.matrices * d * shape.d_mlp
    return int((1 if shape.tied else 2) * vocabulary * d + shape.n_layers * layer)
