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


def next_token_batch(contexts: np.ndarray, positions: np.ndarray) -> Batch:
    """Score the prediction of token ``p + 1`` at each ``p`` in ``positions``.

    contexts   integers [batch, context]
    positions  integers [scored], each in ``0 .. context - 2``
    """
    tokens = torch.from_numpy(np.ascontiguousarray(contexts, dtype=np.int64))
    where = torch.from_numpy(np.ascontiguousarray(positions, dtype=np.int64))
    return Batch(tokens, where, tokens[:, where + 1])


def next_token_batches(
    contexts: np.ndarray,
    *,
    batch_size: int,
    count: int,
    scored: int | None,
    random: np.random.Generator,
) -> list[Batch]:
    """``count`` minibatches drawn from ``contexts`` without replacement (anew when used up).

    Each batch scores ``scored`` positions of its contexts, drawn uniformly without replacement and
    shared by the batch's contexts; ``None`` scores all ``context - 1``.

    Raises ValueError where there are fewer contexts than one batch holds.
    """
    total, context = contexts.shape
    if total < batch_size:
        raise ValueError(
            f"{total} contexts are too few for one batch of {batch_size}: "
            "give the distribution more text or lower the batch size"
        )
    per_pass = total // batch_size
    passes = -(-count // per_pass)
    orders = [random.permutation(total)[: per_pass * batch_size] for _ in range(passes)]
    rows = np.concatenate(orders).reshape(-1, batch_size)[:count]
    predictable = context - 1
    size = predictable if scored is None else min(scored, predictable)
    return [
        next_token_batch(contexts[row], np.sort(random.choice(predictable, size, replace=False)))
        for row in rows
    ]
