"""The mean cross-entropy of logits and its gradient in the unembedding's input, in temporary blocks.

With e = exp(logits) and total = sum of e, a row's loss is log(total) - q . logits (minus the entropy of q)
and its gradient is e / total - q. The target q enters linearly only, so its terms come from ``q W^T``,
computed once per minibatch. Over the vocabulary, only the products, the exponential and a sum remain.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from rllc.estimator.kernels.folded import Unembedding

# If the sum of exp(logits) leaves these limits, subtract the rows' maxima first.
LEAST, MOST = 1e-30, 1e30

Hits = TypeVar("Hits")


class Targets(NamedTuple):
    """The targets of each row (batch, scored), multiplied by the unembedding."""

    mean: Tensor  # [row, model], q W^T
    offset: Tensor  # [row], q . c
    entropy: Tensor  # [], mean over rows; 0 of a token
    given: Tensor  # [row] tokens, or [row, vocab] probabilities


def targets_of(targets: Tensor, unembedding: Unembedding) -> Targets:
    """Return the targets from tokens [batch, scored] or probabilities [batch, scored, vocab]."""
    if not targets.is_floating_point():
        token = targets.flatten()
        return Targets(unembedding.W_T[token], unembedding.c[token], unembedding.c.new_zeros(()), token)
    q = targets.flatten(0, 1)
    return Targets(q @ unembedding.W_T, q @ unembedding.c, torch.special.entr(q).sum(-1).mean(), q)


def loss_of(
    x: Tensor, unembedding: Unembedding, targets: Targets, *, limit: int, together: bool, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Return row losses [chain, row] of logits x W + c, and the gradient [chain, row, model] of their mean.

    The gradient is in x [chain, row, model]. ``limit`` is the maximum bytes of logits at once (at least one
    row of one chain). ``together`` as in ``blocks``.
    """
    vocab = unembedding.c.numel()
    losses = torch.linalg.vecdot(x, targets.mean).neg_().sub_(targets.offset)
    d_x = torch.empty_like(x) if gradient else None
    buffer = None
    at_once = limit // (vocab * x.element_size())
    for chains, rows in blocks(x.shape[0], x.shape[1], at_once, together=together):
        part = x[chains, rows]
        flat = part.flatten(0, 1)
        if buffer is None:
            buffer = x.new_empty(len(flat), vocab)
        logits = buffer[: len(flat)]

        def fill(logits: Tensor = logits, flat: Tensor = flat) -> Tensor:
            return torch.addmm(unembedding.c, flat, unembedding.W, out=logits)

        log_total, total, _ = exponentials(fill, lambda: None)
        losses[chains, rows] += log_total.view(part.shape[:2])
        if d_x is not None:
            d = torch.mm(logits, unembedding.W_T).div_(total).view(part.shape)
            torch.sub(d, targets.mean[rows], out=d_x[chains, rows])
    return losses, None if d_x is None else d_x.div_(x.shape[1])


def exponentials(fill: Callable[[], Tensor], hit: Callable[[], Hits]) -> tuple[Tensor, Tensor, Hits]:
    """Fill a buffer with logits [..., vocab] by ``fill``, and replace them by exp(logits - shift) in place.

    Returns log(sum of exp(logits)) [...], the sum over the buffer [..., 1], and the result of ``hit``, called
    while the buffer holds logits.
    """
    logits = fill()
    hits = hit()
    if not logits.is_cuda:  # on a GPU, this check costs more than subtracting the maxima
        total = logits.exp_().sum(-1, keepdim=True)
        if bool((total < MOST).all() & (total > LEAST).all()):
            return total.log().squeeze(-1), total, hits
        logits = fill()
    top = logits.amax(-1, keepdim=True)
    total = logits.sub_(top).exp_().sum(-1, keepdim=True)
    return total.log().add_(top).squeeze(-1), total, hits


def blocks(chains: int, rows: int, at_once: int, *, together: bool) -> list[tuple[slice, slice]]:
    """Return blocks of chains and rows of similar size, with at most ``at_once`` rows (of a chain) each.

    together  put as many chains as possible in a block, for few and large launches; else one chain per block,
              so that the rows of a block are contiguous
    """
    group = max(min(chains, at_once // rows), 1) if together else 1
    step = max(at_once // group, 1)
    step = -(-rows // -(-rows // step))  # equal parts: a small last block would be slow to multiply
    return [
        (slice(chain, min(chain + group, chains)), slice(row, min(row + step, rows)))
        for chain in range(0, chains, group)
        for row in range(0, rows, step)
    ]
