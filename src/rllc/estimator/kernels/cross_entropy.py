"""The mean loss of logits and its gradient in what they are computed from, in blocks that are never kept.

With e = exp(logits) and total = sum of e, a row's loss is log(total) - q . logits (less the entropy of q) and
its gradient e / total - q. All that q, the target, enters with is linear, so it is taken from ``q W^T``
once per minibatch, and over the vocabulary there are the products, the exponential and a sum, nothing else.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from rllc.estimator.kernels.folded import Unembedding

# exp(logits) is summed as it is while the sum stays within these; else the rows' maxima are taken off first.
LEAST, MOST = 1e-30, 1e30

Hits = TypeVar("Hits")


class Targets(NamedTuple):
    """What is predicted at each row (batch, scored), seen through the unembedding."""

    mean: Tensor  # [row, model], q W^T
    offset: Tensor  # [row], q . c
    entropy: Tensor  # [], mean over rows; 0 of a token
    given: Tensor  # [row] tokens, or [row, vocab] probabilities


def targets_of(targets: Tensor, unembedding: Unembedding) -> Targets:
    """From tokens [batch, scored] or probabilities [batch, scored, vocab]."""
    if not targets.is_floating_point():
        token = targets.flatten()
        return Targets(unembedding.W_T[token], unembedding.c[token], unembedding.c.new_zeros(()), token)
    q = targets.flatten(0, 1)
    return Targets(q @ unembedding.W_T, q @ unembedding.c, torch.special.entr(q).sum(-1).mean(), q)


def loss_of(
    x: Tensor, unembedding: Unembedding, targets: Targets, *, limit: int, together: bool, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Row losses [chain, row] of logits x W + c, and the gradient [chain, row, model] of their mean in x.

    x [chain, row, model]; at most ``limit`` bytes of logits at once (one row of one chain at least);
    together as in ``blocks``
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
    """Logits [..., vocab], as ``fill`` computes them in a buffer, become exp(logits - something) there.

    Returns log(sum of exp(logits)) [...], the sum of what is in the buffer now [..., 1], and what ``hit``
    read in the buffer while it held logits.
    """
    logits = fill()
    hits = hit()
    if not logits.is_cuda:  # on a GPU, finding out costs more than taking off the maxima
        total = logits.exp_().sum(-1, keepdim=True)
        if bool((total < MOST).all() & (total > LEAST).all()):
            return total.log().squeeze(-1), total, hits
        logits = fill()
    top = logits.amax(-1, keepdim=True)
    total = logits.sub_(top).exp_().sum(-1, keepdim=True)
    return total.log().add_(top).squeeze(-1), total, hits


def blocks(chains: int, rows: int, at_once: int, *, together: bool) -> list[tuple[slice, slice]]:
    """Blocks of chains and rows that hold ``at_once`` rows (of a chain) each, or less, all about the same.

    together  as many chains in a block as go in, for few and large launches; else one chain in each, so that
              the rows of a block are contiguous
    """
    group = max(min(chains, at_once // rows), 1) if together else 1
    step = max(at_once // group, 1)
    step = -(-rows // -(-rows // step))  # no small rest, which would be slow to multiply
    return [
        (slice(chain, min(chain + group, chains)), slice(row, min(row + step, rows)))
        for chain in range(0, chains, group)
        for row in range(0, rows, step)
    ]
