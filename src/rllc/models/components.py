"""Components of an attention-only transformer: a mask of coordinates for each label.

    1:6          index 6 of dim 0 of blocks.1.attn.{W_Q, W_K, W_V, W_O, b_Q, b_K, b_V}
    layer:1      every attention weight of layer 1, b_O included
    embedding    embed.W_E (not W_pos: under shortformer it never enters the residual stream)

A head includes neither b_O nor layer norm, as in arXiv 2410.02984 and its public code: 32,864
coordinates at d_model 256, d_head 32.
"""

import torch
from torch import Tensor

from rllc.components import check
from rllc.models.transformer import Architecture, shapes

HEAD_WEIGHTS = ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V")


def masks(component: str, architecture: Architecture) -> dict[str, Tensor] | None:
    """Return boolean masks of the sampled coordinates, by weight name; ``None`` selects everything.

    A weight without a mask is frozen. Raises ValueError where the component is unknown or not in the model.
    """
    parsed = check(component, n_layers=architecture.n_layers, n_heads=architecture.n_heads)
    table = shapes(architecture)
    if parsed.label == "full":
        return None
    if parsed.label == "embedding" or parsed.layer is not None:
        prefix = "embed." if parsed.layer is None else f"blocks.{parsed.layer}.attn."
        whole = {name: shape for name, shape in table.items() if name.startswith(prefix)}
        return {name: torch.ones(shape, dtype=torch.bool) for name, shape in whole.items()}
    chosen: dict[str, Tensor] = {}
    for layer, head in parsed.heads:
        for weight in HEAD_WEIGHTS:
            name = f"blocks.{layer}.attn.{weight}"
            mask = chosen.setdefault(name, torch.zeros(table[name], dtype=torch.bool))
            mask[head] = True
    return chosen
