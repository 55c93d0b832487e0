"""The mean cross-entropy after a final layer norm, where one head moves: logits of low rank, in blocks.

With x = base + z W_O^T centred, scale = (|x|^2 / model + eps)^(-1/2) and the layer norm folded into W and c::

    logits = scale (base W^T + z M) + c,    M = W_O^T W^T

``base W^T`` is computed once per minibatch. The products of a chain have d_head where whole logits have
d_model. As in blocked_loss.py, the logit of the target is taken off before the exponential.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rllc.estimator.kernels.blocked_loss import COLUMNS, MOST, ROWS


class Base(NamedTuple):
    """What does not depend on the head, on a minibatch.

    x        the residual without the head, centred [row, model]
    logits   x W^T [row, vocabulary]
    W, c     unembedding with the layer norm folded in [vocabulary, model], [vocabulary] (``fold_norm``)
    targets  int64 [row]
    eps      of the layer norm
    """

    x: Tensor
    logits: Tensor
    W: Tensor
    c: Tensor
    targets: Tensor
    eps: float


def fold_norm(W: Tensor, b: Tensor | None, gain: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``Base.W`` and ``Base.c``: the layer norm folded into an unembedding [vocabulary, model]."""
    c = W @ bias
    return centred(W * gain), c if b is None else c + b


def centred(x: Tensor) -> Tensor:
    """Return x minus its mean over the last dimension."""
    return x - x.mean(-1, keepdim=True)


def low_rank_loss(z: Tensor, W_O: Tensor, base: Base) -> Tensor:
    """Return the mean loss of predicted tokens, float64 [...]; differentiable once, in z and W_O.

    z    output of the head before its projection [..., row, d_head]
    W_O  its projection [..., model, d_head]
    """
    mean, _, _ = _LowRank.apply(z, W_O, torch.is_grad_enabled(), *base)  # pyright: ignore[reportGeneralTypeIssues]
    return mean


class _LowRank(torch.autograd.Function):
    @staticmethod
    def forward(z: Tensor, W_O: Tensor, gradient: bool, *base: Any) -> tuple[Tensor, Tensor, Tensor]:
        flat, own = z.reshape(-1, *z.shape[-2:]), W_O.reshape(-1, *W_O.shape[-2:])
        each = [_loss(*both, Base(*base), gradient=gradient) for both in zip(flat, own, strict=True)]
        mean, d_z, d_W_O = (
            torch.stack(part).view((*z.shape[:-2], *part[0].shape)) for part in zip(*each, strict=True)
        )
        return mean, d_z, d_W_O

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        factor = grad_outputs[0][..., None, None]
        return *(d * factor.to(d.dtype) for d in ctx.saved_tensors), *[None] * (1 + len(Base._fields))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        z, W_O, *rest = args
        if in_dims[0] is None or in_dims[1] is None or any(dim is not None for dim in in_dims[2:]):
            raise ValueError("z and W_O must be batched, and nothing else: the base is that of all chains")
        return _LowRank.apply(z.movedim(in_dims[0], 0), W_O.movedim(in_dims[1], 0), *rest), (0, 0, 0)


def _loss(z: Tensor, W_O: Tensor, base: Base, *, gradient: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean loss of one chain and its gradients in z and W_O (empty without ``gradient``)."""
    own, (count, width) = W_O - W_O.mean(0), z.shape
    # The rows after M add the shift and c to the logits (``_left``); in sums over v, they give sum e_v.
    M = torch.cat([own.T @ base.W.T, torch.ones_like(base.c)[None], base.c[None]])
    losses, d_z, d_own = z.new_empty(count), torch.empty_like(z), torch.zeros_like(own)
    d_M = M.new_zeros(width, M.shape[1]) if gradient else None
    step = min(ROWS.get(z.device.type, ROWS["cuda"]), count)
    buffer = z.new_empty(step, M.shape[1])
    for first in range(0, count, step):
        rows = slice(first, first + step)
        part, x, target = z[rows], base.x[rows] + z[rows] @ own.T, base.targets[rows]
        scale = (x.square().mean(-1, keepdim=True) + base.eps).rsqrt()
        of_target = M[:width, target].T
        hit = base.logits[rows].gather(1, target[:, None]) + torch.linalg.vecdot(part, of_target)[:, None]
        logit = scale * hit + base.c[target][:, None]
        e = buffer[: len(part)]
        sums, reach = _exponentials(base.logits[rows], _left(part, scale, logit), scale, M, into=e)
        losses[rows] = sums[:, width].log()
        if not bool((sums[:, width] < MOST).all()):
            top = _largest(base.logits[rows], _left(part, scale, torch.zeros_like(logit)), scale, M, into=e)
            sums, reach = _exponentials(base.logits[rows], _left(part, scale, top), scale, M, into=e)
            losses[rows] = (sums[:, width].log()[:, None] + top - logit).squeeze(1)
        if d_M is None:
            continue
        total = sums[:, width, None]
        mean = sums[:, :width] / total  # of M, over the predicted distribution
        d_scale = reach / total + (part * mean).sum(-1, keepdim=True) - hit
        d_x = x * (d_scale * scale**3 / -x.shape[-1])
        scaled = part * scale
        d_z[rows] = scale * (mean - of_target) + d_x @ own
        d_own.addmm_(d_x.T, part).addmm_(base.W[target].T, scaled, alpha=-1)
        d_M.addmm_((scaled / total).T, e)
    if d_M is None:
        return losses.double().mean(), z.new_empty(0, 0), z.new_empty(0, 0)
    d_own.addmm_(base.W.T, d_M.T)
    return losses.double().mean(), d_z.div_(count), d_own.div_(count)


def _left(z: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return the factors of M and of the rows after it: scale z, minus the shift, 1."""
    return torch.cat([scale * z, -shift, torch.ones_like(shift)], 1)


def _blocks(logits: Tensor, left: Tensor, scale: Tensor, M: Tensor, into: Tensor) -> Iterator[slice]:
    """Write logits - shift to ``into`` [row, vocabulary], a block of the vocabulary at a time."""
    size = COLUMNS.get(logits.device.type, COLUMNS["cuda"])
    for first in range(0, logits.shape[1], size):
        block = slice(first, first + size)
        torch.mul(logits[:, block], scale, out=into[:, block])
        into[:, block].addmm_(left, M[:, block])
        yield block


def _exponentials(
    logits: Tensor, left: Tensor, scale: Tensor, M: Tensor, *, into: Tensor
) -> tuple[Tensor, Tensor]:
    """Write e = exp(logits - shift) to ``into``. Return e M^T, and the row sums of e * logits of the base."""
    sums, reach = torch.zeros_like(left), left.new_zeros(len(left), 1)
    for block in _blocks(logits, left, scale, M, into):
        e = into[:, block].exp_()
        sums.addmm_(e, M[:, block].T)
        reach += torch.linalg.vecdot(e, logits[:, block])[:, None]
    return sums, reach


def _largest(logits: Tensor, left: Tensor, scale: Tensor, M: Tensor, *, into: Tensor) -> Tensor:
    """Return the largest logit of each row [row, 1]."""
    each = [into[:, block].amax(-1, keepdim=True) for block in _blocks(logits, left, scale, M, into)]
    return torch.cat(each, 1).amax(-1, keepdim=True)
