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

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from rllc.models import one_layer
from rllc.models.weights import Weights


@dataclass(frozen=True)
class Architecture:
    """The shape of a model: all parameters of a forward pass except the weights.

    >>> shape = Architecture(n_layers=2, n_heads=4, d_model=32, d_head=8, n_ctx=64, d_vocab=100)
    >>> shapes(shape)["blocks.1.attn.W_Q"]
    (4, 32, 8)

    Without layers (``n_layers`` 0) a model predicts the next token from the current one alone.
    """

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
    """Return the name and shape of every weight.

    A shortformer model without layers has no W_pos, which enters only queries and keys.
    """
    a = architecture
    table: dict[str, tuple[int, ...]] = {"embed.W_E": (a.d_vocab, a.d_model)}
    if a.n_layers or a.positions == "standard":
        table["pos_embed.W_pos"] = (a.n_ctx, a.d_model)
    table |= {"unembed.W_U": (a.d_model, a.d_vocab), "unembed.b_U": (a.d_vocab,)}
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
    """Return (x - mean) / sqrt(var + eps) * w + b over the last axis; x without layer norm."""
    if not architecture.layer_norm:
        return x
    return torch.nn.functional.layer_norm(
        x, x.shape[-1:], weights[f"{name}.w"], weights[f"{name}.b"], architecture.layer_norm_eps
    )


def embed(
    weights: Weights, tokens: Tensor, architecture: Architecture, at: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Return the input of layer 0, and the position embedding that shortformer adds to queries and keys.

    tokens [batch, context], at [scored] (None: every position) -> residual [batch, scored, model],
    position [scored, model] or None
    """
    where = slice(tokens.shape[1]) if at is None else at
    residual = torch.nn.functional.embedding(tokens[:, where], weights["embed.W_E"])
    if "pos_embed.W_pos" not in weights:
        return residual, None
    position = weights["pos_embed.W_pos"][where]
    if architecture.positions == "standard":
        return residual + position, None
    return residual, position


def attention_pattern(query: Tensor, key: Tensor, at: Tensor | None) -> Tensor:
    """Return causal softmax attention.

    query [..., scored, d_head], key [..., context, d_head], at [scored]: the positions of the queries
    (None: all of them) -> [..., scored, context]
    """
    context = key.shape[-2]
    where = torch.arange(context, device=key.device) if at is None else at
    future = torch.arange(context, device=key.device) > where[:, None]
    # Scaling the smaller factor and adding -inf, instead of dividing the scores and masked_fill, saves three
    # passes over [.., scored, context], forward and backward (6 % of a training step).
    mask = torch.zeros(future.shape, dtype=key.dtype, device=key.device).masked_fill(future, float("-inf"))
    scores = (query * key.shape[-1] ** -0.5) @ key.transpose(-1, -2) + mask
    return scores.softmax(-1)


def attention_inputs(
    weights: Weights, layer: int, residual: Tensor, position: Tensor | None, architecture: Architecture
) -> tuple[Tensor, Tensor]:
    """Return the input of queries and keys, and the input of values: both [batch, context, model]."""
    x = layer_norm(residual, weights, f"blocks.{layer}.ln1", architecture)
    return (x if position is None else x + position), x


def first_inputs(
    weights: Weights, tokens: Tensor, architecture: Architecture, at: Tensor | None = None
) -> tuple[Tensor, tuple[Tensor, Tensor], Tensor | None]:
    """Return the residual stream at the queried positions, ``attention_inputs`` of layer 0, and an index.

    The inputs depend only on token and position. If a batch has at least twice as many contexts as the
    vocabulary has tokens, the inputs are per pair of token and position, [vocab, context, model], so that
    they and their projections are computed once per pair. The index [batch, context] then locates them.
    Otherwise it is None.
    """
    context = tokens.shape[1]
    if len(tokens) < 2 * architecture.d_vocab:
        residual, position = embed(weights, tokens, architecture)
        inputs = attention_inputs(weights, 0, residual, position, architecture)
        return (residual if at is None else residual[:, at]), inputs, None
    every = torch.arange(architecture.d_vocab, device=tokens.device)[:, None].expand(-1, context)
    index = tokens * context + torch.arange(context, device=tokens.device)
    inputs = attention_inputs(weights, 0, *embed(weights, every, architecture), architecture)
    return embed(weights, tokens, architecture, at)[0], inputs, index


def head_outputs(
    weights: Weights,
    layer: int,
    inputs: tuple[Tensor, Tensor],
    at: Tensor | None = None,
    index: Tensor | None = None,
) -> Tensor:
    """Return the input of W_O, z [batch, head, scored, d_head], of each head at the queried positions.

    index  [batch, context]: the row of ``inputs`` for each (batch, position), from ``first_inputs``; None:
           ``inputs`` are by (batch, position)
    """
    query_key, value = inputs
    name = f"blocks.{layer}.attn"

    def project(x: Tensor, m: str) -> Tensor:  # -> [batch, head, position, d_head]
        y = torch.einsum("bpm,hmd->bphd", x, weights[f"{name}.W_{m}"]) + weights[f"{name}.b_{m}"]
        return y.transpose(1, 2)

    def look_up(x: Tensor, m: str, where: Tensor) -> Tensor:  # -> [head, batch, position, d_head]
        y = x.flatten(0, 1) @ weights[f"{name}.W_{m}"] + weights[f"{name}.b_{m}"][:, None]
        heads, pairs, _ = y.shape
        first = pairs * torch.arange(heads, device=y.device)[:, None, None]
        return torch.nn.functional.embedding(first + where, y.flatten(0, 1))

    if index is None:
        query = project(query_key if at is None else query_key[:, at], "Q")
        pattern = attention_pattern(query, project(query_key, "K"), at)
        return pattern @ project(value, "V")
    # Heads come first: in the order of the products, the lookup needs no copy (saves a quarter of a step).
    query = look_up(query_key, "Q", index if at is None else index[:, at])
    pattern = attention_pattern(query, look_up(query_key, "K", index), at)
    return (pattern @ look_up(value, "V", index)).transpose(0, 1)


def attention_weights(weights: Weights, layer: int, query_key: Tensor) -> Tensor:
    """Return each head's attention, given the input of queries and keys: [batch, head, context, context]."""
    name = f"blocks.{layer}.attn"
    query, key = (
        torch.einsum("bpm,hmd->bhpd", query_key, weights[f"{name}.W_{m}"]) + weights[f"{name}.b_{m}"][:, None]
        for m in "QK"
    )
    return attention_pattern(query, key, None)


def attention(
    weights: Weights,
    layer: int,
    inputs: tuple[Tensor, Tensor],
    at: Tensor | None = None,
    index: Tensor | None = None,
) -> Tensor:
    """Return the layer's write to the residual stream at the queried positions: [batch, scored, model]."""
    return _written(weights, layer, head_outputs(weights, layer, inputs, at, index))


def _written(weights: Weights, layer: int, z: Tensor) -> Tensor:
    name = f"blocks.{layer}.attn"
    return torch.einsum("bhpd,hdm->bpm", z, weights[f"{name}.W_O"]) + weights[f"{name}.b_O"]


def layers(
    weights: Weights,
    stream: tuple[Tensor, Tensor | None],
    architecture: Architecture,
    at: Tensor | None,
    first: int = 0,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield ``head_outputs`` and the residual stream [batch, ., model] after each layer from ``first`` on.

    stream  the input of layer ``first``, in the form of ``embed``
    at      the queried positions of the last layer (None: all); earlier layers compute all positions
    """
    residual, position = stream
    for layer in range(first, architecture.n_layers):
        asked = at if layer == architecture.n_layers - 1 else None
        inputs = attention_inputs(weights, layer, residual, position, architecture)
        z = head_outputs(weights, layer, inputs, asked)
        written = _written(weights, layer, z)
        residual = (residual if asked is None else residual[:, asked]) + written
        yield z, residual


def unembed(weights: Weights, residual: Tensor, architecture: Architecture) -> Tensor:
    """Return logits [..., vocab] from the final residual stream [..., model]."""
    x = layer_norm(residual, weights, "ln_final", architecture)
    return x @ weights["unembed.W_U"] + weights["unembed.b_U"]


def logits_from(
    weights: Weights,
    stream: tuple[Tensor, Tensor | None],
    architecture: Architecture,
    at: Tensor | None,
    first: int,
) -> Tensor:
    """Return the logits of ``forward`` from the input of layer ``first``, or from the last layer's output."""
    residual, _ = stream
    for _, left in layers(weights, stream, architecture, at, first):
        residual = left
    return unembed(weights, residual, architecture)


def forward(weights: Weights, tokens: Tensor, architecture: Architecture, at: Tensor | None = None) -> Tensor:
    """Return the logits of a model.

    tokens int64 [batch, context]; at int64 [scored] (None: every position) -> [batch, scored, vocab].
    The queries of the last layer and the logits are computed only at these positions.
    """
    last = architecture.n_layers - 1
    if last < 0:
        return unembed(weights, embed(weights, tokens, architecture, at)[0], architecture)
    one = last == 0 and architecture.positions == "standard"
    if one and one_layer.pays(architecture.d_vocab, *tokens.shape):
        eps = architecture.layer_norm_eps if architecture.layer_norm else None
        return unembed(weights, one_layer.residual(weights, tokens, at, eps=eps), architecture)
    asked = at if last == 0 else None
    residual, inputs, index = first_inputs(weights, tokens, architecture, asked)
    residual = residual + attention(weights, 0, inputs, asked, index)
    position = None
    if architecture.positions == "shortformer":
        position = weights["pos_embed.W_pos"][: tokens.shape[1]]
    return logits_from(weights, (residual, position), architecture, at, first=1)
