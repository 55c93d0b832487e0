"""The output of one attention head with rotary positions and fused projections (GPT-NeoX)."""

from typing import NamedTuple

import torch
from torch import Tensor


class HeadWeights(NamedTuple):
    """The weights of one head: [(query | key | value), model], their bias or None, and [model, d_head]."""

    W_QKV: Tensor
    b_QKV: Tensor | None
    W_O: Tensor


class Inputs(NamedTuple):
    """What the heads of a layer read of a minibatch.

    x         normalised input of the layer [batch, context, model]
    cos, sin  rotary factors [batch or 1, context, rotary]
    mask      added to the scores [batch or 1, context, context]
    asked     int64: the queried positions; None: all
    """

    x: Tensor
    cos: Tensor
    sin: Tensor
    mask: Tensor
    asked: Tensor | None


def attend(head: HeadWeights, inputs: Inputs, *, scaling: float) -> Tensor:
    """Return the input of W_O at the queried positions: [batch, queried, d_head]."""
    x, asked = inputs.x, inputs.asked
    bias = (None,) * 3 if head.b_QKV is None else head.b_QKV.chunk(3)
    (W_Q, W_K, W_V), (b_Q, b_K, b_V) = head.W_QKV.chunk(3), bias
    key = rotated(torch.nn.functional.linear(x, W_K, b_K), inputs.cos, inputs.sin)
    value = torch.nn.functional.linear(x, W_V, b_V)
    at_query = [
        part if asked is None else part[:, asked] for part in (x, inputs.cos, inputs.sin, inputs.mask)
    ]
    query = rotated(torch.nn.functional.linear(at_query[0], W_Q, b_Q), at_query[1], at_query[2])
    return (query @ key.mT * scaling + at_query[3]).softmax(-1) @ value


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return x [., position, d_head] with its first coordinates turned, as many as ``cos`` has."""
    turned, rest = x.split([cos.shape[-1], x.shape[-1] - cos.shape[-1]], -1)
    one, other = turned.chunk(2, -1)
    return torch.cat([turned * cos + torch.cat([-other, one], -1) * sin, rest], -1)
