"""Models whose weights are written down, so that what their heads do is known."""

import torch

from rllc.models.transformer import Architecture, shapes

SHARP = 100.0  # attention scores of the built heads: softmax to within float precision


def induction_model(vocabulary: int, context: int) -> tuple[Architecture, dict[str, torch.Tensor]]:
    """Two layers without layer norm: 0:0 attends to the previous token, 0:1 to the current one, 1:0 is
    an induction head that predicts what it attends to, and 1:1 attends evenly.

    The residual stream has three parts of one-hot tokens: this token, the previous token (written by
    0:0), the prediction (written by 1:0); positions are one-hot in a fourth part.
    """
    width = max(vocabulary, context)
    a = Architecture(2, 2, 3 * vocabulary + context, width, context, vocabulary, layer_norm=False)
    w = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in shapes(a).items()}
    this, previous, predicted = (slice(i * vocabulary, (i + 1) * vocabulary) for i in range(3))
    place = slice(3 * vocabulary, None)
    tokens, places = torch.eye(vocabulary, width).double(), torch.eye(context, width).double()
    w["embed.W_E"][:, this] = torch.eye(vocabulary).double()
    w["pos_embed.W_pos"][:, place] = torch.eye(context).double()
    scale = SHARP * width**0.5
    w["blocks.0.attn.W_Q"][:, place] = scale * places
    w["blocks.0.attn.W_K"][0, place] = places.roll(1, 1)  # the key at p matches the query at p + 1
    w["blocks.0.attn.W_K"][1, place] = places
    w["blocks.0.attn.W_V"][0, this] = tokens
    w["blocks.0.attn.W_O"][0, :, previous] = tokens.T
    w["blocks.1.attn.W_Q"][0, this] = scale * tokens
    w["blocks.1.attn.W_K"][0, previous] = tokens
    w["blocks.1.attn.W_V"][0, this] = tokens
    w["blocks.1.attn.W_O"][0, :, predicted] = tokens.T
    w["unembed.W_U"][predicted] = 20 * torch.eye(vocabulary).double()
    return a, w
