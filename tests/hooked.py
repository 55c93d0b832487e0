"""A checkpoint as a TransformerLens model, what the functional transformer is compared with."""

from transformer_lens import HookedTransformer, HookedTransformerConfig

from rllc.models.transformer import Architecture
from rllc.models.weights import Weights


def as_hooked(weights: Weights, architecture: Architecture) -> HookedTransformer:
    """The ``HookedTransformer`` with these weights: nothing is folded, centred or otherwise processed."""
    a = architecture
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
        device="cpu",
        dtype=weights["embed.W_E"].dtype,
    )
    model = HookedTransformer(config)
    buffers = {name: value for name, value in model.state_dict().items() if name not in weights}
    model.load_state_dict({**buffers, **{name: w.detach() for name, w in weights.items()}}, strict=True)
    return model
