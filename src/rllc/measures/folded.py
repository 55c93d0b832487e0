"""Frozen layers of a transformer and their gradients, written out, with the layer norms folded in.

A layer norm is folded into the weights that read it: with x^ = (x - mean) / sd(x)::

    LN(x) W + b = x^ W' + c,    W' = (I - 11^T / d_model) diag(gain) W,    c = bias W + b

The columns of W' sum to 0, so the gradient through x^ is (d - x^ mean(d x^)) / sd, without a mean of d.
Written out, and not left to autograd, because a head's chain spends most of its time here.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from rllc.models.transformer import Architecture, Weights


class Frozen(NamedTuple):
    """A layer above the sampled head, its layer norm folded in, 1 / sqrt(d_head) folded into queries."""

    W_KV: Tensor  # [model, (key | value, head, d_head)]
    c_KV: Tensor  # [n_ctx, (key | value, head, d_head)]
    W_Q: Tensor  # [model, (head, d_head)]
    c_Q: Tensor  # [n_ctx, (head, d_head)]
    W_O: Tensor  # [(head, d_head), model]
    b_O: Tensor  # [model]


class Unembedding(NamedTuple):
    """The unembedding with the final layer norm folded in: logits = x^ W + c."""

    W: Tensor  # [model, vocab]
    c: Tensor  # [vocab]


def fold_unembedding(weights: Weights, architecture: Architecture) -> Unembedding:
    """W_U and b_U with ``ln_final`` folded in."""
    norm = "ln_final" if architecture.layer_norm else None
    W, c = weights["unembed.W_U"], weights["unembed.b_U"]
    return Unembedding(*_fold(weights, norm, W, c))


def fold_layer(weights: Weights, layer: int, architecture: Architecture) -> Frozen:
    """An attention layer with its ``ln1``, and shortformer's positions, folded in."""
    norm = f"blocks.{layer}.ln1" if architecture.layer_norm else None

    def flat(m: str) -> tuple[Tensor, Tensor]:  # [model, (head, d_head)], [n_ctx, (head, d_head)]
        name = f"blocks.{layer}.attn"
        W = weights[f"{name}.W_{m}"].transpose(0, 1).flatten(1)
        b = weights[f"{name}.b_{m}"].flatten().expand(architecture.n_ctx, -1)
        if architecture.positions == "shortformer" and m != "V":
            b = b + weights["pos_embed.W_pos"] @ W
        return _fold(weights, norm, W, b)

    (W_Q, c_Q), (W_K, c_K), (W_V, c_V) = flat("Q"), flat("K"), flat("V")
    scale = architecture.d_head**-0.5
    W_O = weights[f"blocks.{layer}.attn.W_O"].flatten(0, 1)
    return Frozen(
        torch.cat([W_K, W_V], 1),
        torch.cat([c_K, c_V], 1),
        W_Q * scale,
        c_Q * scale,
        W_O,
        weights[f"blocks.{layer}.attn.b_O"],
    )


def _fold(weights: Weights, norm: str | None, W: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    if norm is None:
        return W, c
    gained = weights[f"{norm}.w"][:, None] * W
    return gained - gained.mean(0), c + weights[f"{norm}.b"] @ W


def normalise(x: Tensor, architecture: Architecture) -> tuple[Tensor, Tensor | None]:
    """x^ = (x - mean) / sd and sd [..., 1], sd^2 = variance + eps; x itself and None without layer norm."""
    if not architecture.layer_norm:
        return x, None
    x = x - x.mean(-1, keepdim=True)
    sd = (torch.linalg.vecdot(x, x)[..., None] / x.shape[-1] + architecture.layer_norm_eps).sqrt()
    x /= sd
    return x, sd


def normalise_backward(d: Tensor, x: Tensor, sd: Tensor | None) -> Tensor:
    """Gradient in x of a function of x^ with gradient d (of mean 0, as the folded weights make it)."""
    if sd is None:
        return d
    return torch.addcmul(d, x, torch.linalg.vecdot(d, x)[..., None] / -x.shape[-1]).div_(sd)


def causal_mask(context: int, at: Tensor | None, like: Tensor) -> Tensor:
    """0 where a query may look, -inf where not: [asked, context]."""
    key = torch.arange(context, device=like.device)
    future = key > (key if at is None else at)[:, None]
    return like.new_zeros(future.shape).masked_fill_(future, float("-inf"))


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax attention [., asked, d_head] and its pattern [., asked, context]; queries come scaled."""
    pattern = torch.baddbmm(mask, query, key.transpose(1, 2)).softmax(-1)
    return torch.bmm(pattern, value), pattern


def attend_backward(
    d_out: Tensor, out: Tensor, pattern: Tensor, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of ``attend`` in query, key and value."""
    d_scores = torch.bmm(d_out, value.transpose(1, 2))
    d_scores -= (d_out * out).sum(-1, keepdim=True)
    d_scores *= pattern
    return (
        torch.bmm(d_scores, key),
        torch.bmm(d_scores.transpose(1, 2), query),
        torch.bmm(pattern.transpose(1, 2), d_out),
    )


def frozen_forward(
    residual: Tensor, frozen: Frozen, at: Tensor | None, architecture: Architecture
) -> tuple[Tensor, tuple]:
    """The residual stream [., asked, model] leaving a layer that ``residual`` [., context, model] enters."""
    count, context, _ = residual.shape
    x, sd = normalise(residual, architecture)
    asked, c_Q = (x, frozen.c_Q[:context]) if at is None else (x[:, at], frozen.c_Q[at])

    def split(flat: Tensor) -> Tensor:  # [., position, (head, d_head)] -> [(., head), position, d_head]
        return flat.unflatten(-1, (architecture.n_heads, -1)).transpose(1, 2).flatten(0, 1)

    key_value = x @ frozen.W_KV
    key_value += frozen.c_KV[:context]
    key, value = map(split, key_value.chunk(2, dim=-1))
    query = split(asked @ frozen.W_Q + c_Q)
    z, pattern = attend(query, key, value, causal_mask(context, at, key))
    written = z.unflatten(0, (count, -1)).transpose(1, 2).flatten(2) @ frozen.W_O
    written += frozen.b_O
    written += residual if at is None else residual[:, at]
    return written, (x, sd, z, pattern, query, key, value)


def frozen_backward(
    d: Tensor, frozen: Frozen, at: Tensor | None, kept: tuple, architecture: Architecture
) -> Tensor:
    """Gradient in the residual that enters the layer, from that in the one leaving it."""
    x, sd, *attention = kept
    count, context, _ = x.shape
    heads = (architecture.n_heads, architecture.d_head)
    d_z = (d @ frozen.W_O.T).unflatten(-1, heads).transpose(1, 2).flatten(0, 1)
    d_query, d_key, d_value = attend_backward(d_z, *attention)
    d_key_value = x.new_empty(count, context, 2, *heads)
    d_key_value[:, :, 0] = d_key.unflatten(0, (count, -1)).transpose(1, 2)
    d_key_value[:, :, 1] = d_value.unflatten(0, (count, -1)).transpose(1, 2)
    d_x = d_key_value.view(count, context, -1) @ frozen.W_KV.T
    d_asked = d_query.unflatten(0, (count, -1)).transpose(1, 2).flatten(2) @ frozen.W_Q.T
    if at is None:
        return normalise_backward(d_x.add_(d_asked), x, sd).add_(d)
    return normalise_backward(d_x.index_add_(1, at, d_asked), x, sd).index_add_(1, at, d)
