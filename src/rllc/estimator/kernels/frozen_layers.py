"""Frozen attention layers above a sampled head, with explicit forward and backward passes.

The passes are explicit, not left to autograd, since a chain of an early head spends most of its time here.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rllc.estimator.kernels.attention import Asked, attend
from rllc.estimator.kernels.folded import Frozen, scale_of, through_scale
from rllc.models.transformer import Architecture


def first_layer(
    z: Tensor,
    W_O: Tensor,
    base: Tensor,
    base_QKV: Tensor,
    frozen: Frozen,
    asked: Asked,
    architecture: Architecture,
    *,
    gradient: bool,
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor]] | None]:
    """Return the output [chain, batch, asked, model] of the layer above a head, using the low rank of z W_O.

    With x = base + z W_O, queries, keys and values are scale(x) (base W_QKV + z (W_O W_QKV)) + c.

    z         [chain, (batch, context), d_head]
    W_O       [chain, d_head, model], centred
    base      [batch, context, model], the residual stream without the head, centred
    base_QKV  [batch, context, ...], base times W_QKV

    Also returns the backward pass: gradient of the output -> gradients of z and of W_O (of mean 0).
    """
    chains, (batch, context, model) = len(z), base.shape
    x = torch.bmm(z, W_O).add_(base.view(-1, model))  # [chain, row, model]
    scale = scale_of(x, architecture)
    low_rank = W_O @ frozen.W_QKV
    u = torch.baddbmm(base_QKV.view(-1, base_QKV.shape[-1]), z, low_rank)
    written, through = _attention(
        u.view(chains * batch, context, -1),
        None if scale is None else scale.view(chains * batch, context, 1),
        frozen, asked, architecture, gradient=gradient,
    )  # fmt: skip
    x = x.view(chains, batch, context, model)
    written = written.view(chains, batch, -1, model)
    written += x[:, :, : written.shape[2]] if asked.leading else x[:, :, asked.positions]
    if through is None:
        return written, None

    def backward(d: Tensor) -> tuple[Tensor, Tensor]:
        d_u, d_scale = through(d.view(chains * batch, -1, model))
        d_u = d_u.view(u.shape)
        if scale is None or d_scale is None:
            d_x = torch.zeros_like(x)
        else:
            d_x = x * through_scale(d_scale, scale.view(d_scale.shape), model).view(chains, batch, context, 1)
        _add_at(d_x.view(chains * batch, context, model), d.view(chains * batch, -1, model), asked)
        d_x = d_x.view(chains, -1, model)
        d_z = torch.bmm(d_u, low_rank.mT).baddbmm_(d_x, W_O.mT)
        d_W_O = (torch.bmm(z.mT, d_u) @ frozen.W_QKV.T).baddbmm_(z.mT, d_x)
        return d_z, d_W_O

    return written, backward


def further_layer(
    x: Tensor, frozen: Frozen, asked: Asked, architecture: Architecture, *, gradient: bool
) -> tuple[Tensor, Callable[[Tensor], Tensor] | None]:
    """Return a layer's output [chain, batch, asked, model] for input x [chain, batch, context, model]."""
    chains, batch, context, model = x.shape
    scale = scale_of(x, architecture)
    flat = x.view(chains * batch, context, model)
    flat_scale = None if scale is None else scale.view(chains * batch, context, 1)
    written, through = _attention(
        flat @ frozen.W_QKV, flat_scale, frozen, asked, architecture, gradient=gradient
    )
    written = written.view(chains, batch, -1, model)
    written += x[:, :, asked.positions]
    if through is None:
        return written, None

    def backward(d: Tensor) -> Tensor:
        d_u, d_scale = through(d.view(chains * batch, -1, model))
        d_x = d_u @ frozen.W_QKV.T
        if flat_scale is not None and d_scale is not None:
            d_x += flat * through_scale(d_scale, flat_scale, model)
        _add_at(d_x, d.view(chains * batch, -1, model), asked)
        return d_x.view(x.shape)

    return written, backward


def _attention(
    u: Tensor,
    scale: Tensor | None,
    frozen: Frozen,
    asked: Asked,
    architecture: Architecture,
    *,
    gradient: bool,
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor | None]] | None]:
    """Return the layer's write to the residual stream [., asked, model], with inputs scale * u + c.

    u [., context, (query | key | value, head, d_head)], scale [., context, 1] or None. Also returns the
    backward pass: gradient of the write -> gradients of u and of scale [., context, 1].
    """
    context = u.shape[1]
    c = frozen.c_QKV[:context]
    read = u + c if scale is None else torch.addcmul(c, u, scale)
    heads = (3, architecture.n_heads, architecture.d_head)
    query, key, value = read.unflatten(-1, heads).permute(2, 0, 3, 1, 4)  # [., head, context, d_head] each
    count = len(asked.positions)
    query = query[:, :, :count] if asked.leading else query[:, :, asked.positions]
    z, through = attend(query, key, value, asked, gradient=gradient)
    written = z.transpose(1, 2).flatten(2) @ frozen.W_O
    written += frozen.b_O
    if through is None:
        return written, None

    def backward(d: Tensor) -> tuple[Tensor, Tensor | None]:
        d_z = (d @ frozen.W_O.T).unflatten(-1, heads[1:]).transpose(1, 2)
        d_query, d_key, d_value = (part.transpose(1, 2) for part in through(d_z))
        d_read = torch.empty_like(u)
        into = d_read.unflatten(-1, heads)
        if asked.leading:
            into[:, :count, 0] = d_query
            into[:, count:, 0] = 0
        else:
            into[:, :, 0] = 0
            into[:, asked.positions, 0] = d_query
        into[:, :, 1] = d_key
        into[:, :, 2] = d_value
        if scale is None:
            return d_read, None
        d_scale = torch.linalg.vecdot(d_read, u)[..., None]
        return d_read.mul_(scale), d_scale

    return written, backward


def _add_at(total: Tensor, d: Tensor, asked: Asked) -> None:
    """Add d [., asked, model] to total [., context, model] at the queried positions."""
    if asked.leading:
        total[:, : d.shape[1]] += d
    else:
        total.index_add_(1, asked.positions, d)
