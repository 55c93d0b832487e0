"""Causal attention at the queried positions, and its gradients."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

# From this context length on, use PyTorch's fused kernel: it keeps no [asked, context] table and skips masked
# keys. For shorter contexts, two products and a softmax take less time.
FUSED_FROM = 96

Backward = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]


class Asked(NamedTuple):
    """The positions of the computed queries.

    positions  int64 [asked]
    leading    the positions are 0, 1, ..., asked - 1
    mask       0 where a query may attend, else -inf: [asked, context]
    """

    positions: Tensor
    leading: bool
    mask: Tensor


def asked_at(positions: Tensor | None, context: int, like: Tensor) -> Asked:
    """Return the positions (None: the whole context) with their mask, in ``like``'s dtype and device.

    Positions ascend, and the prediction at the last position is never scored. So context - 1 or more
    positions must be the leading ones. Fewer positions are compared on a CPU only: elsewhere the host would
    wait for the device.
    """
    key = torch.arange(context, device=like.device)
    where = key if positions is None else positions
    leading = len(where) >= context - 1
    if not leading and where.device.type == "cpu":
        leading = bool(torch.equal(where, key[: len(where)]))
    mask = like.new_zeros(len(where), context).masked_fill_(key > where[:, None], float("-inf"))
    return Asked(where, leading, mask)


def attend(
    query: Tensor, key: Tensor, value: Tensor, asked: Asked, *, gradient: bool
) -> tuple[Tensor, Backward | None]:
    """Return softmax attention and, with ``gradient``, its backward function (else None).

    query [., head, asked, d_head], already scaled; key, value [., head, context, d_head]
    -> [., head, asked, d_head], backward: gradient of the output -> gradients of query, key and value
    """
    if asked.leading and key.shape[-2] >= FUSED_FROM:
        return _fused(query, key, value, gradient)
    shape = query.shape
    query, key, value = query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1)
    pattern = torch.baddbmm(asked.mask, query, key.mT).softmax(-1)
    z = torch.bmm(pattern, value)

    def backward(d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        d = d.flatten(0, 1)
        d_scores = torch.ops.aten._softmax_backward_data(torch.bmm(d, value.mT), pattern, -1, pattern.dtype)
        d_key, d_value = torch.bmm(d_scores.mT, query), torch.bmm(pattern.mT, d)
        heads = (-1, shape[1])
        return (
            torch.bmm(d_scores, key).view(shape),
            d_key.unflatten(0, heads),
            d_value.unflatten(0, heads),
        )

    return z.view(shape), backward if gradient else None


def _fused(query: Tensor, key: Tensor, value: Tensor, gradient: bool) -> tuple[Tensor, Backward | None]:
    query, key, value = (x.detach().requires_grad_(gradient) for x in (query, key, value))
    with torch.set_grad_enabled(gradient):
        z = scaled_dot_product_attention(query, key, value, is_causal=True, scale=1.0)
    if not gradient:
        return z, None

    def backward(d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        d_query, d_key, d_value = torch.autograd.grad(z, (query, key, value), d)
        return d_query, d_key, d_value

    return z.detach(), backward
