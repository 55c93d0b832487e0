"""Components of an attention-only transformer: a mask of coordinates for each label.

    1:6          index 6 of dim 0 of blocks.1.attn.{W_Q, W_K, W_V, W_O, b_Q, b_K, b_V}
    layer:1      every attention weight of layer 1, b_O included
    norm:1       the layer norm of layer 1
    embedding    embed.W_E (not W_pos: under shortformer it never enters the residual stream)
    unembedding  unembed.W_U and unembed.b_U
    weights:W_Q  every weight in whose name W_Q is found

A head includes neither b_O nor layer norm, as in arXiv 2410.02984 and its public code: 32,864
coordinates at d_model 256, d_head 32.
"""

import torch
from torch import Tensor

from rllc.components import Part, check
from rllc.models.named_weights import matching
from rllc.models.transformer import Architecture, shapes

HEAD_WEIGHTS = ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V")


def masks(component: str, architecture: Architecture) -> dict[str, Tensor] | None:
    """Return boolean masks of the sampled coordinates, by weight name; ``None`` selects everything.

    A weight without a mask is frozen. Raises ValueError where the component is unknown or not in the model.
    """
    a = architecture
    parsed = check(component, n_layers=a.n_layers, n_heads=a.n_heads, norms=a.layer_norm)
    table = shapes(architecture)
    if parsed.label == "full":
        return None
    chosen: dict[str, Tensor] = {}
    for part in parsed.parts:
        if part.kind == "weights":
            return matching(part, table)
        if part.kind != "head":
            prefix = _prefix(part)
            whole = {name: shape for name, shape in table.items() if name.startswith(prefix)}
            chosen |= {name: torch.ones(shape, dtype=torch.bool) for name, shape in whole.items()}
            continue
        for weight in HEAD_WEIGHTS:
            name = f"blocks.{part.layer}.attn.{weight}"
            mask = chosen.setdefault(name, torch.zeros(table[name], dtype=torch.bool))
            mask[part.index] = True
    return chosen


def _prefix(part: Part) -> str:
    """Return the common start of the names of the weights of a part other than a head."""
    whole = {"embedding": "embed.", "unembedding": "unembed."}
    of_layer = {"layer": "attn.", "norm": "ln1."}
    return whole.get(part.kind) or f"blocks.{part.layer}.{of_layer[part.kind]}"
