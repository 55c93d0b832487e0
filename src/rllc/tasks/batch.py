"""What a loss is evaluated on: contexts of tokens or vectors, the scored positions, and their targets."""

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
    positions  int64 [scored]: the positions whose prediction enters the loss, ascending; empty where contexts
               have none
    targets    int64 [batch, scored] (tokens), float [batch, scored, vocabulary] (probabilities) or
               float [batch, scored, ...], without positions [batch, ...] (numbers)
    """

    contexts: Tensor
    positions: Tensor
    targets: Tensor

    def split(self, size: int) -> list["Batch"]:
        """Batches of ``size`` contexts each, the last of what is left; their order is kept."""
        parts = zip(self.contexts.split(size), self.targets.split(size), strict=True)
        return [Batch(contexts, self.positions, targets) for contexts, targets in parts]


class Examples(NamedTuple):
    """What minibatches are drawn from. Integers become int64, floating-point numbers float32.

    contexts   integers [total, context], floating-point [total, context, width] or [total, width]
    positions  integers, ascending: the positions whose prediction can be scored; None: of tokens all but the
               last, of vectors with positions all
    targets    [total, context, ...], or [total, ...] without positions: what is to be predicted at each
               position; None: the next token
    """

    contexts: np.ndarray
    positions: np.ndarray | None = None
    targets: np.ndarray | None = None

    def scorable(self) -> np.ndarray:
        """The positions whose prediction can be scored."""
        if self.positions is not None:
            return self.positions
        vectors = self.contexts.dtype.kind == "f"
        if vectors and self.contexts.ndim == 2:
            return np.arange(0)
        return np.arange(self.contexts.shape[1] - (not vectors))

    def batch(self, rows: np.ndarray, positions: np.ndarray) -> Batch:
        """The contexts ``rows``, scored at ``positions``."""
        if self.targets is None:
            return next_token_batch(self.contexts[rows], positions)
        targets = self.targets[rows][:, positions] if len(self.scorable()) else self.targets[rows]
        return Batch(_tensor(self.contexts[rows]), _tensor(positions), _tensor(targets))


def next_token_batch(contexts: np.ndarray, positions: np.ndarray) -> Batch:
    """Score the prediction of token ``p + 1`` at each ``p`` in ``positions``.

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


def _tensor(part: np.ndarray) -> Tensor:
    dtype = np.float32 if part.dtype.kind == "f" else np.int64
    return torch.from_numpy(np.ascontiguousarray(part, dtype=dtype))
