"""The next-token loss, its per-token form, and batches whose targets are another model's predictions."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rllc.models.transformer import Architecture, Weights, forward
from rllc.tasks.batch import Batch


def token_losses(logits: Tensor, targets: Tensor) -> Tensor:
    """Loss of each prediction, in nats: [..., vocab] -> [...].

    Targets that are tokens (int64, [...]) give the cross-entropy -log p(target). Targets that are
    probabilities q ([..., vocab]) give the divergence KL(q || p): the cross-entropy less the entropy of
    q, so the same gradient, and 0 where the model equals its teacher.
    """
    if targets.is_floating_point():
        return torch.special.entr(targets).sum(-1).neg() - (targets * logits.log_softmax(-1)).sum(-1)
    flat = torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), reduction="none"
    )
    return flat.reshape(targets.shape)


def next_token_loss(architecture: Architecture) -> Callable[[Weights, Batch], Tensor]:
    """``loss(weights, batch)``: mean loss over the batch's contexts and scored positions, nats/token."""

    def loss(weights: Weights, batch: Batch) -> Tensor:
        logits = forward(weights, batch.tokens, architecture, batch.positions)
        return token_losses(logits, batch.targets).mean()

    return loss


class TaughtBatches(Sequence[Batch]):
    """Batches with the next-token distribution of a teacher in place of the tokens.

    The reconstruction of the model-generated data refinement of arXiv 2410.02984, App. F.3: contexts
    stay, the one-hot next token becomes ``softmax(teacher)``. Targets are computed when a batch is
    asked for, so only one batch of [batch, scored, vocab] probabilities is in memory.
    """

    def __init__(self, batches: Sequence[Batch], teacher: Weights, architecture: Architecture):
        self._batches, self._teacher, self._architecture = batches, teacher, architecture

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> Batch:
        batch = self._batches[index]
        with torch.no_grad():
            logits = forward(self._teacher, batch.tokens, self._architecture, batch.positions)
        return batch._replace(targets=logits.softmax(-1))
