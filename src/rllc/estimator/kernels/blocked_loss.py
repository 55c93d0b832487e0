"""The mean cross-entropy of logits x W^T + b in blocks of rows and of the vocabulary, with its gradient in x.

Logits are never whole: a block fits in a core's cache. With s_v the logit of token v minus that of the
target, a row's loss is log(sum over v of exp(s_v)), and its gradient in x is (sum over v of exp(s_v) W_v) /
(sum over v of exp(s_v)) - W_target. Both sums run over blocks of the vocabulary, so one pass gives both. The
gradient is computed with the loss; W and b are frozen.
"""

from typing import Any

import torch
from torch import Tensor

# Rows and vocabulary of a block. On a CPU, a block of logits takes half of a core's L2 cache.
ROWS = {"cpu": 256, "cuda": 2048}
COLUMNS = {"cpu": 1024, "cuda": 2**16}
# A row whose sum of exponentials is larger (probability of the target below 1e-30) is computed again, minus
# its largest logit.
MOST = 1e30


def blocked_loss(x: Tensor, W: Tensor, b: Tensor | None, targets: Tensor) -> Tensor:
    """Return the mean loss of predicted tokens, float64 [...]; differentiable once, in x alone.

    x        [..., row, model]
    W, b     unembedding [vocabulary, model], and its bias [vocabulary] or None
    targets  int64 [row]
    """
    frozen = None if b is None else b.detach()
    # Under torch.func.vmap, x does not tell whether it requires a gradient.
    mean, _ = _Blocked.apply(x, W.detach(), frozen, targets, torch.is_grad_enabled())  # pyright: ignore[reportGeneralTypeIssues]
    return mean


class _Blocked(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor, W: Tensor, b: Tensor | None, targets: Tensor, gradient: bool
    ) -> tuple[Tensor, Tensor]:
        rows = x.shape[-2]
        flat = x.reshape(-1, x.shape[-1])
        each = targets.expand(x.shape[:-1]).reshape(-1)
        losses, d_x = row_losses(flat, W, b, each, gradient=gradient)
        mean = losses.view(x.shape[:-1]).double().mean(-1)
        return mean, x.new_empty(*x.shape[:-2], 0) if d_x is None else d_x.div_(rows).view(x.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (d_x,) = ctx.saved_tensors
        return d_x * grad_outputs[0].to(d_x.dtype)[..., None, None], None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        x, *rest = args
        if in_dims[0] is None or any(dim is not None for dim in in_dims[1:]):
            raise ValueError("only x can be batched: the unembedding and the targets are those of all chains")
        return _Blocked.apply(x.movedim(in_dims[0], 0), *rest), (0, 0)


def row_losses(
    x: Tensor, W: Tensor, b: Tensor | None, targets: Tensor, *, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Return the loss of each row [row] and, with ``gradient``, its gradient in x [row, model] or None."""
    losses, d_x = x.new_empty(len(x)), torch.empty_like(x) if gradient else None
    for rows in torch.arange(len(x)).split(ROWS.get(x.device.type, ROWS["cuda"])):
        some = slice(int(rows[0]), int(rows[-1]) + 1)
        part, target = x[some], W[targets[some]]
        own = torch.linalg.vecdot(part, target)
        if b is not None:
            own = own + b[targets[some]]
        total, d = _exponentials(part, W, b, own, gradient=gradient)
        loss = total.log()
        if not bool((total < MOST).all()):
            top = _largest(part, W, b)
            total, d = _exponentials(part, W, b, top, gradient=gradient)
            loss = total.log().add_(top).sub_(own)
        losses[some] = loss
        if d_x is not None and d is not None:
            torch.sub(d.div_(total[:, None]), target, out=d_x[some])
    return losses, d_x


def _exponentials(
    x: Tensor, W: Tensor, b: Tensor | None, shift: Tensor, *, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Return the sum over v of e_v = exp(logit_v - shift) [row], and the sum of e_v W_v [row, model]."""
    total, d = x.new_zeros(len(x)), torch.zeros_like(x) if gradient else None
    for logits, part in _blocks(x, W, b, shift):
        total += logits.exp_().sum(-1)
        if d is not None:
            d.addmm_(logits, part)
    return total, d


def _largest(x: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    """Return the largest logit of each row."""
    return torch.stack([logits.amax(-1) for logits, _ in _blocks(x, W, b, x.new_zeros(len(x)))]).amax(0)


def _blocks(x: Tensor, W: Tensor, b: Tensor | None, shift: Tensor) -> Any:
    """Yield logits minus ``shift`` [row, block], valid until the next ones, with their rows of W."""
    size = COLUMNS.get(x.device.type, COLUMNS["cuda"])
    buffer = x.new_empty(len(x) * min(size, len(W)))
    below = -shift[:, None]
    for first in range(0, len(W), size):
        part = W[first : first + size]
        logits = buffer[: len(x) * len(part)].view(len(x), len(part))
        torch.addmm(below, x, part.T, out=logits)
        if b is not None:
            logits += b[first : first + size]
        yield logits, part
