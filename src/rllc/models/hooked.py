"""A checkpoint as a TransformerLens model, for hooks, patching and looking inside."""

from typing import TYPE_CHECKING

from rllc.models.transformer import Architecture, Weights, shapes

if TYPE_CHECKING:
    from transformer_lens import HookedTransformer


def as_hooked(weights: Weights, architecture: Architecture) -> "HookedTransformer":
    """The ``HookedTransformer`` that computes what ``transformer.forward`` computes with ``weights``.

    The weights are copied as they are: nothing is folded, centred or otherwise processed. Importing
    TransformerLens takes several seconds, so it happens here and not with this module.

    Raises ValueError where names or shapes of the weights are not those of the architecture.
    """
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    _check(weights, architecture)
    a = architecture
    device = weights["embed.W_E"].device
    config = HookedTransformerConfig(
        n_layers=a.n_layers,
        n_heads=a.n_heads,
        d_model=a.d_model,
        d_head=a.d_head,
        n_ctx=a.n_ctx,
        d_vocab=a.d_vocab,
        attn_only=True,
        normalization_type="LN" if a.layer_norm else None,
        eps=a.layer_norm_eps,
        positional_embedding_type=a.positions,
        init_weights=False,  # its initialisation would draw from the global generator
        device=str(device),
        dtype=weights["embed.W_E"].dtype,
    )
    model = HookedTransformer(config)
    buffers = {name: value for name, value in model.state_dict().items() if name not in weights}
    model.load_state_dict({**buffers, **{name: w.detach() for name, w in weights.items()}}, strict=True)
    return model


def _check(weights: Weights, architecture: Architecture) -> None:
    expected = shapes(architecture)
    if missing := sorted(expected.keys() - weights.keys()):
        raise ValueError(f"weights lack {missing}: is this the architecture of the checkpoint?")
    if extra := sorted(weights.keys() - expected.keys()):
        raise ValueError(f"weights hold {extra}, which {architecture} does not have")
    for name, shape in expected.items():
        if tuple(weights[name].shape) != shape:
            raise ValueError(f"{name} has shape {tuple(weights[name].shape)}, {architecture} needs {shape}")
