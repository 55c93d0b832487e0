"""The inputs of a loss: contexts of tokens or vectors, the scored positions, and their targets."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Batch(NamedTuple):
    """One minibatch of any task.

    >>> contexts = torch.tensor([[0, 3, 1, 2], [0, 2, 2, 1]])
    >>> batch = Batch(contexts, torch.arange(3), contexts[:, 1:])  # predicts every next token
    >>> [len(part.contexts) for part in batch.split(1)]
    [1, 1]

    contexts   int64 [batch, context] (tokens), float32 [batch, context, width] or [batch, width] (vectors)
    positions  int64 [scored]: the positions whose prediction enters the loss, ascending; empty for contexts
               without positions
    targets    int64 [batch, scored] (tokens), float [batch, scored, vocabulary] (probabilities) or
               float [batch, scored, ...], without positions [batch, ...] (numbers)
    """

    contexts: Tensor
    positions: Tensor
    targets: Tensor

    def split(self, size: int) -> list["Batch"]:
        """Return batches of ``size`` contexts each, in order; the last may be smaller."""
        parts = zip(self.contexts.split(size), self.targets.split(size), strict=True)
        return [Batch(contexts, self.positions, targets) for contexts, targets in parts]


class Examples(NamedTuple):
    """The examples that minibatches are drawn from. Integers become int64, floats become float32.

    contexts   integers [total, context], floating-point [total, context, width] or [total, width]
    positions  integers, ascending: the positions whose prediction can be scored. None: all (vectors), or all
               except the last (tokens)
    targets    [total, context, ...], or [total, ...] without positions: the target at each position; None:
               the next token
    """

    contexts: np.ndarray
    positions: np.ndarray | None = None
    targets: np.ndarray | None = None

    def scorable(self) -> np.ndarray:
        """Return the positions whose prediction can be scored."""
        if self.positions is not None:
            return self.positions
        vectors = self.contexts.dtype.kind == "f"
        if vectors and self.contexts.ndim == 2:
            return np.arange(0)
        return np.arange(self.contexts.shape[1] - (not vectors))

    def batch(self, rows: np.ndarray, positions: np.ndarray) -> Batch:
        """Return the batch of the contexts ``rows``, scored at ``positions``."""
        if self.targets is None:
            return next_token_batch(self.contexts[rows], positions)
        targets = self.targets[rows][:, positions] if len(self.scorable()) else self.targets[rows]
        return Batch(_tensor(self.contexts[rows]), _tensor(positions), _tensor(targets))


def next_token_batch(contexts: np.ndarray, positions: np.ndarray) -> Batch:
    """Return a batch that scores the prediction of token ``p + 1`` at each ``p`` in ``positions``.

    contexts   integers [batch, context]
    positions  integers [scored], each in ``0 .. context - 2``
    """
    tokens, where = _tensor(contexts), _tensor(positions)
    return Batch(tokens, where, tokens[:, where + 1])


def batches_of(
    examples: Examples,
    *,
    batch_size: int,
    count: int,
    scored: int | None,
    random: np.random.Generator,
) -> list[Batch]:
    """Return ``count`` minibatches drawn from ``examples`` without replacement, in as many passes as needed.

    Each batch scores ``scored`` of the scorable positions, drawn uniformly without replacement and shared by
    its contexts; ``None`` scores all.

    Raises ValueError where there are fewer contexts than one batch needs.
    """
    total = len(examples.contexts)
    if total < batch_size:
        raise ValueError(
            f"{total} contexts are too few for one batch of {batch_size}: "
            "give the distribution more text or lower the batch size"
        )
    per_pass = total // batch_size
    passes = -(-count // per_pass)
    orders = [random.permutation(total)[: per_pass * batch_size] for _ in range(passes)]
    rows = np.concatenate(orders).reshape(-1, batch_size)[:count]
    scorable = examples.scorable()
    size = len(scorable) if scored is None else min(scored, len(scorable))
    return [
        examples.batch(row, scorable[np.sort(random.choice(len(scorable), size, replace=False))])
        for row in rows
    ]


def _tensor(part: np.ndarray) -> Tensor:
    dtype = np.float32 if part.dtype.kind == "f" else np.int64
    return torch.from_numpy(np.ascontiguousarray(part, dtype=dtype))
