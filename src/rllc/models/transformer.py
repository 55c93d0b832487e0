"""Attention-only transformers as functions of a dict of weights, in TransformerLens names and shapes.

    embed.W_E [vocab, model]   pos_embed.W_pos [context, model]
    blocks.L.ln1.{w,b} [model]
    blocks.L.attn.{W_Q,W_K,W_V} [head, model, d_head]   .{b_Q,b_K,b_V} [head, d_head]
    blocks.L.attn.W_O [head, d_head, model]             .b_O [model]
    ln_final.{w,b} [model]     unembed.W_U [model, vocab]   .b_U [vocab]

Positions are ``shortformer`` (added to the normalised input of queries and keys in every layer, never
to the residual stream; Press et al. 2021) or ``standard`` (added once, to the embedding). Without
``layer_norm`` the ``ln`` weights do not exist. Attention is explicit (no fused kernel), so that every
function here has second derivatives and forward-mode derivatives.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]


@dataclass(frozen=True)
class Architecture:
    """The shape of a model; everything a forward pass needs besides the weights."""

    n_layers: int
    n_heads: int
    d_model: int
    d_head: int
    n_ctx: int
    d_vocab: int
    positions: str = "shortformer"
    layer_norm: bool = True
    layer_norm_eps: float = 1e-5


def shapes(architecture: Architecture) -> dict[str, tuple[int, ...]]:
    """Name and shape of every weight."""
    a = architecture
    table: dict[str, tuple[int, ...]] = {
        "embed.W_E": (a.d_vocab, a.d_model),
        "pos_embed.W_pos": (a.n_ctx, a.d_model),
        "unembed.W_U": (a.d_model, a.d_vocab),
        "unembed.b_U": (a.d_vocab,),
    }
    norms = [f"blocks.{layer}.ln1" for layer in range(a.n_layers)] + ["ln_final"]
    if a.layer_norm:
        table |= {f"{norm}.{part}": (a.d_model,) for norm in norms for part in ("w", "b")}
    for layer in range(a.n_layers):
        attention = f"blocks.{layer}.attn"
        table |= {f"{attention}.W_{m}": (a.n_heads, a.d_model, a.d_head) for m in "QKV"}
        table |= {f"{attention}.b_{m}": (a.n_heads, a.d_head) for m in "QKV"}
        table[f"{attention}.W_O"] = (a.n_heads, a.d_head, a.d_model)
        table[f"{attention}.b_O"] = (a.d_model,)
    return table


def layer_norm(x: Tensor, weights: Weights, name: str, architecture: Architecture) -> Tensor:
    """(x - mean) / sqrt(var + eps) * w + b over the last axis; the identity without layer norm."""
    if not architecture.layer_norm:
        return x
    return torch.nn.functional.layer_norm(
        x, x.shape[-1:], weights[f"{name}.w"], weights[f"{name}.b"], architecture.layer_norm_eps
    )


def embed(weights: Weights, tokens: Tensor, architecture: Architecture) -> tuple[Tensor, Tensor | None]:
    """The residual stream entering layer 0, and what shortformer adds to queries and keys.

    tokens [batch, context] -> residual [batch, context, model], position [context, model] or None
    """
    position = weights["pos_embed.W_pos"][: tokens.shape[1]]
    residual = torch.nn.functional.embedding(tokens, weights["embed.W_E"])
    if architecture.positions == "standard":
        return residual + position, None
    return residual, position


def attention_pattern(query: Tensor, key: Tensor, at: Tensor | None) -> Tensor:
    """Causal softmax attention.

    query [..., scored, d_head], key [..., context, d_head], at [scored]: the positions of the queries
    (None: all of them) -> [..., scored, context]
    """
    context = key.shape[-2]
    where = torch.arange(context, device=key.device) if at is None else at
    future = torch.arange(context, device=key.device) > where[:, None]
    # Scaling the smaller factor and adding -inf spare three passes over [.., scored, context], forward
    # and backward, against dividing the scores and masked_fill (6 % of a training step).
    mask = torch.zeros(future.shape, dtype=key.dtype, device=key.device).masked_fill(future, float("-inf"))
    scores = (query * key.shape[-1] ** -0.5) @ key.transpose(-1, -2) + mask
    return scores.softmax(-1)


def attention_inputs(
    weights: Weights, layer: int, residual: Tensor, position: Tensor | None, architecture: Architecture
) -> tuple[Tensor, Tensor]:
    """What queries and keys read, and what values read: both [batch, context, model]."""
    x = layer_norm(residual, weights, f"blocks.{layer}.ln1", architecture)
    return (x if position is None else x + position), x


def first_inputs(
    weights: Weights, tokens: Tensor, embedded: tuple[Tensor, Tensor | None], architecture: Architecture
) -> tuple[tuple[Tensor, Tensor], Tensor | None]:
    """``attention_inputs`` of layer 0, and None; or those of every token at every position, and where in them
    to look.

    The inputs depend on token and position alone. Where a batch has at least twice as many contexts as there
    are tokens, they and what is projected from them are computed once per pair, [vocab, context, model], and
    looked up by the index [batch, context].
    """
    context = tokens.shape[1]
    if len(tokens) < 2 * architecture.d_vocab:
        return attention_inputs(weights, 0, *embedded, architecture), None
    every = torch.arange(architecture.d_vocab, device=tokens.device)[:, None].expand(-1, context)
    index = tokens * context + torch.arange(context, device=tokens.device)
    return attention_inputs(weights, 0, *embed(weights, every, architecture), architecture), index


def head_outputs(
    weights: Weights,
    layer: int,
    inputs: tuple[Tensor, Tensor],
    at: Tensor | None = None,
    index: Tensor | None = None,
) -> Tensor:
    """What each head hands to W_O, at the queried positions: z [batch, head, scored, d_head].

    index  [batch, context]: where a (batch, position) stands in ``inputs`` (``first_inputs``); None: there
    """
    query_key, value = inputs

    def project(x: Tensor, m: str, where: Tensor | None) -> Tensor:  # -> [batch, head, position, d_head]
        name = f"blocks.{layer}.attn"
        y = torch.einsum("bpm,hmd->bphd", x, weights[f"{name}.W_{m}"]) + weights[f"{name}.b_{m}"]
        if where is not None:
            y = torch.nn.functional.embedding(where, y.flatten(2).flatten(0, 1)).unflatten(-1, y.shape[2:])
        return y.transpose(1, 2)

    if at is None:
        query = project(query_key, "Q", index)
    elif index is None:
        query = project(query_key[:, at], "Q", None)
    else:
        query = project(query_key, "Q", index[:, at])
    pattern = attention_pattern(query, project(query_key, "K", index), at)
    return pattern @ project(value, "V", index)


def attention(
    weights: Weights,
    layer: int,
    inputs: tuple[Tensor, Tensor],
    at: Tensor | None = None,
    index: Tensor | None = None,
) -> Tensor:
    """What the layer writes to the residual stream, at the queried positions: [batch, scored, model]."""
    z = head_outputs(weights, layer, inputs, at, index)
    name = f"blocks.{layer}.attn"
    return torch.einsum("bhpd,hdm->bpm", z, weights[f"{name}.W_O"]) + weights[f"{name}.b_O"]


def unembed(weights: Weights, residual: Tensor, architecture: Architecture) -> Tensor:
    """Logits [..., vocab] from the final residual stream [..., model]."""
    x = layer_norm(residual, weights, "ln_final", architecture)
    return x @ weights["unembed.W_U"] + weights["unembed.b_U"]


def forward(weights: Weights, tokens: Tensor, architecture: Architecture, at: Tensor | None = None) -> Tensor:
    """Logits of a model.

    tokens int64 [batch, context]; at int64 [scored] (None: every position) -> [batch, scored, vocab].
    The last layer computes queries, and the unembedding logits, only where they are asked for.
    """
    residual, position = embed(weights, tokens, architecture)
    for layer in range(architecture.n_layers):
        asked = at if layer == architecture.n_layers - 1 else None
        if layer == 0:
            inputs, index = first_inputs(weights, tokens, (residual, position), architecture)
        else:
            inputs, index = attention_inputs(weights, layer, residual, position, architecture), None
        written = attention(weights, layer, inputs, asked, index)
        residual = (residual if asked is None else residual[:, asked]) + written
    if architecture.n_layers == 0 and at is not None:
        residual = residual[:, at]
    return unembed(weights, residual, architecture)
