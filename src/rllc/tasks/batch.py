"""What a loss is evaluated on: contexts, the scored positions, and their targets."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Batch(NamedTuple):
    """One minibatch of any next-token task.

    tokens     int64 [batch, context]
    positions  int64 [scored]: the positions whose prediction enters the loss, ascending
    targets    int64 [batch, scored] (tokens), or float [batch, scored, vocabulary] (probabilities)
    """

    tokens: Tensor
    positions: Tensor
    targets: Tensor


class Examples(NamedTuple):
    """What minibatches are drawn from.

    contexts   integers [total, context]
    positions  integers, ascending: the positions whose prediction can be scored; None: all but the last
    targets    integers [total, context]: what is to be predicted at each position; None: the next token
    """

    contexts: np.ndarray
    positions: np.ndarray | None = None
    targets: np.ndarray | None = None

    def scorable(self) -> np.ndarray:
        """The positions whose prediction can be scored."""
        return np.arange(self.contexts.shape[1] - 1) if self.positions is None else self.positions

    def batch(self, rows: np.ndarray, positions: np.ndarray) -> Batch:
        """The contexts ``rows``, scored at ``positions``."""
        if self.targets is None:
            return next_token_batch(self.contexts[rows], positions)
        tokens, where, targets = (
            torch.from_numpy(np.ascontiguousarray(part, dtype=np.int64))
            for part in (self.contexts[rows], positions, self.targets[rows][:, positions])
        )
        return Batch(tokens, where, targets)


def next_token_batch(contexts: np.ndarray, positions: np.ndarray) -> Batch:
    """Score the prediction of token ``p + 1`` at each ``p`` in ``positions``.

    contexts   integers [batch, context]
    positions  integers [scored], each in ``0 .. context - 2``
    """
    tokens = torch.from_numpy(np.ascontiguousarray(contexts, dtype=np.int64))
    where = torch.from_numpy(np.ascontiguousarray(positions, dtype=np.int64))
    return Batch(tokens, where, tokens[:, where + 1])


def batches_of(
    examples: Examples,
    *,
    batch_size: int,
    count: int,
    scored: int | None,
    random: np.random.Generator,
) -> list[Batch]:
    """``count`` minibatches drawn from ``examples`` without replacement (anew when used up).

    Each batch scores ``scored`` of the positions that can be, drawn uniformly without replacement and
    shared by the batch's contexts; ``None`` scores them all.

    Raises ValueError where there are fewer contexts than one batch holds.
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
