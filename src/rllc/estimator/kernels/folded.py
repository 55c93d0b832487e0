"""Fold layer norms into the frozen weights that read their outputs, once per checkpoint.

With x_c = x - mean(x) and scale = (|x_c|^2 / d_model + eps)^(-1/2)::

    LN(x) W + b = scale * x_c W' + c,    W' = (I - 11^T / d_model) diag(gain) W,    c = bias W + b

Everything after the embedding reads the residual stream through a layer norm, so the stream is kept centred:
all weights that write to it are centred here. The columns of W' sum to 0, and so do all gradients of the
residual.

Without layer norm, nothing is centred and the scale is 1 (None).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from rllc.models.transformer import Architecture
from rllc.models.weights import Weights


class Frozen(NamedTuple):
    """An attention layer with its layer norm, and d_head^(-1/2) in the queries, folded in."""

    W_QKV: Tensor  # [model, (query | key | value, head, d_head)]
    c_QKV: Tensor  # [n_ctx, (query | key | value, head, d_head)]
    W_O: Tensor  # [(head, d_head), model], centred
    b_O: Tensor  # [model], centred


class Unembedding(NamedTuple):
    """The unembedding with the final layer norm folded in: logits = scale * x_c W + c."""

    W: Tensor  # [model, vocab]
    W_T: Tensor  # [vocab, model], a copy
    c: Tensor  # [vocab]


def fold_unembedding(weights: Weights, architecture: Architecture) -> Unembedding:
    """Return W_U and b_U with ``ln_final`` folded in."""
    norm = "ln_final" if architecture.layer_norm else None
    W, c = _fold(weights, norm, weights["unembed.W_U"], weights["unembed.b_U"])
    return Unembedding(W, W.T.contiguous(), c)


def fold_layer(weights: Weights, layer: int, architecture: Architecture) -> Frozen:
    """Return an attention layer with its ``ln1`` and the shortformer positions folded in."""
    norm = f"blocks.{layer}.ln1" if architecture.layer_norm else None
    name = f"blocks.{layer}.attn"

    def flat(m: str) -> tuple[Tensor, Tensor]:  # [model, (head, d_head)], [n_ctx, (head, d_head)]
        W = weights[f"{name}.W_{m}"].transpose(0, 1).flatten(1)
        b = weights[f"{name}.b_{m}"].flatten().expand(architecture.n_ctx, -1)
        if architecture.positions == "shortformer" and m != "V":
            b = b + weights["pos_embed.W_pos"] @ W
        return _fold(weights, norm, W, b)

    (W_Q, c_Q), (W_K, c_K), (W_V, c_V) = flat("Q"), flat("K"), flat("V")
    size = architecture.d_head**-0.5
    W_O = weights[f"{name}.W_O"].flatten(0, 1)
    b_O = weights[f"{name}.b_O"]
    return Frozen(
        torch.cat([W_Q * size, W_K, W_V], 1),
        torch.cat([c_Q * size, c_K, c_V], 1),
        centred(W_O, architecture),
        centred(b_O, architecture),
    )


def centred(x: Tensor, architecture: Architecture) -> Tensor:
    """Return x [..., model] minus its mean; x unchanged without layer norm."""
    return x - x.mean(-1, keepdim=True) if architecture.layer_norm else x


def scale_of(x: Tensor, architecture: Architecture) -> Tensor | None:
    """Return (|x|^2 / d_model + eps)^(-1/2) of centred x [..., model]: [..., 1]; None without layer norm."""
    if not architecture.layer_norm:
        return None
    square = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_()
    return square.div_(x.shape[-1]).add_(architecture.layer_norm_eps).rsqrt_()


def through_scale(d_scale: Tensor, scale: Tensor, model: int) -> Tensor:
    """Return the factor [..., 1] of x in the gradient that reaches x through its scale."""
    return d_scale * scale**3 / -model


def _fold(weights: Weights, norm: str | None, W: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    if norm is None:
        return W, c
    gained = weights[f"{norm}.w"][:, None] * W
    return gained - gained.mean(0), c + weights[f"{norm}.b"] @ W
