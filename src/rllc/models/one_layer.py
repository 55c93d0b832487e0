"""A one-layer transformer with ``standard`` positions, computed from token and position contributions.

The layer's input at token t and position p depends only on the sum of two rows::

    LN(E_t + P_p) = s(t, p) (e_t + p_p) * w + b,    s(t, p) = 1 / sqrt(|e_t + p_p|^2 / d_model + eps)

with e and p the centred rows of W_E and W_pos (without layer norm: s = 1, w = 1, b = 0, not centred). So
keys, and values through W_O, are s(t, p) times the sum of a token row and a position row, plus a constant.
The constant of the keys shifts all scores of a query equally, so the softmax ignores it, and b_K with it. The
constant of the values passes unchanged, since attention weights sum to 1. The projected array is
[vocab + context, model] for any batch. Scores are looked up. The heads' outputs are one product of these rows
with the attention weights, summed by token and by position. The result equals the general computation up to
rounding. For lists of ten of 51 numbers and two heads, a training step takes 0.6 times as long, and so does a
loss with its gradient.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

# With more rows than this, the product with all rows takes longer than looking values up.
ROWS = 160


def pays(d_vocab: int, batch: int, context: int) -> bool:
    """Return whether this is faster than the general computation, for a minibatch of ``batch`` contexts."""
    return d_vocab <= batch and d_vocab + context <= ROWS


def residual(
    weights: Mapping[str, Tensor], tokens: Tensor, at: Tensor | None, *, eps: float | None
) -> Tensor:
    """Return the residual stream after the layer, at the queried positions.

    tokens  int64 [batch, context]
    at      int64 [scored]: the queried positions; None: all
    eps     eps of the layer norm; None: without layer norm

    -> [batch, scored, model]
    """
    W_Q, W_K, W_V, W_O = (weights[f"blocks.0.attn.W_{m}"] for m in "QKVO")
    b_Q, b_K, b_V, b_O = (weights[f"blocks.0.attn.b_{m}"] for m in "QKVO")
    batch, context = tokens.shape
    heads, model, d_head = W_Q.shape
    vocabulary = len(weights["embed.W_E"])
    rows = vocabulary + context
    every = torch.arange(context, device=tokens.device)
    where = every if at is None else at
    scored = len(where)

    embedding, position = weights["embed.W_E"], weights["pos_embed.W_pos"][:context]
    read, scale, bias = _inputs(weights, embedding, position, eps)  # [rows, model], [vocab, context], [model]
    parts = (vocabulary, context)
    value = (read @ W_V @ W_O).flatten(0, 1)  # [head * rows, model]
    token_key, position_key = (read @ W_K).split(parts, 1)  # [head, vocab or context, d_head]
    token_query, position_query = (read @ W_Q).split(parts, 1)
    query = token_query[:, :, None] + position_query.index_select(1, where)[:, None]
    query = query * scale.index_select(1, where)[:, :, None] + (bias @ W_Q + b_Q)[:, None, None]
    query = (query * d_head**-0.5).flatten(1, 2)  # [head, vocab * scored, d_head]

    # From here on [batch, scored, head, context]: scores by the key's token plus scores by its position
    asking = tokens[:, where] * scored + torch.arange(scored, device=tokens.device)
    head = vocabulary * scored * torch.arange(heads, device=tokens.device)
    row = asking[..., None] + head  # index of the query's scores: [batch, scored, head]
    keys = tokens[:, None, None]
    shape = (batch, scored, heads, context)
    by_token = (query @ token_key.mT).flatten()
    by_token = by_token.index_select(0, (row[..., None] * vocabulary + keys).flatten())
    by_position = (query @ position_key.mT).flatten(0, 1).index_select(0, row.flatten())
    seen = scale.flatten().index_select(0, (tokens * context + every).flatten()).view(batch, 1, 1, context)
    future = (every > where[:, None])[:, None]
    mask = torch.zeros(future.shape, dtype=seen.dtype, device=seen.device).masked_fill(future, float("-inf"))
    pattern = ((by_token.view(shape) + by_position.view(shape)) * seen + mask).softmax(-1)

    # Attention weights times s, summed by token, then listed by position: [batch, scored, head, rows]
    taken = pattern * seen
    none = torch.zeros(*shape[:-1], vocabulary, dtype=taken.dtype, device=taken.device)
    summed = torch.cat([none.scatter_add(-1, keys.expand(shape), taken), taken], -1)

    constant = b_O + torch.einsum("hd,hdm->m", bias @ W_V + b_V, W_O)
    start = embedding[:, None] + (position[where] + (constant + 0.0 * b_K.sum()))  # b_K: a gradient of zero
    start = start.flatten(0, 1).index_select(0, asking.flatten())
    left = torch.addmm(start, summed.view(batch * scored, heads * rows), value)
    return left.view(batch, scored, model)


def _inputs(
    weights: Mapping[str, Tensor], embedding: Tensor, position: Tensor, eps: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of tokens and positions as the heads read them, s(t, p), and b."""
    rows, model = torch.cat([embedding, position]), embedding.shape[1]
    if eps is None:
        one = torch.ones(len(embedding), len(position), dtype=rows.dtype, device=rows.device)
        return rows, one, torch.zeros(model, dtype=rows.dtype, device=rows.device)
    rows = rows - rows.mean(-1, keepdim=True)
    token, place = rows.split((len(embedding), len(position)))
    square = token.square().sum(-1)[:, None] + place.square().sum(-1)
    variance = (square + 2 * token @ place.mT) / model
    scale = (variance.clamp(min=0.0) + eps).rsqrt()  # rounding may make it slightly negative
    return rows * weights["blocks.0.ln1.w"], scale, weights["blocks.0.ln1.b"]
