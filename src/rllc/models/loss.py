"""The cross-entropy of predicted tokens, and the divergence from a teacher."""

from collections.abc import Callable

import torch
from torch import Tensor

from rllc.models.transformer import Architecture, forward
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch


def token_losses(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the loss of each prediction, in nats: [..., vocab] -> [...].

    Tokens as targets (int64, [...]) give the cross-entropy -log p(target). Probabilities q as targets
    ([..., vocab]) give the divergence KL(q || p), the cross-entropy minus the entropy of q. It has the same
    gradient, and is 0 where the model equals its teacher.
    """
    if targets.is_floating_point():
        return torch.special.entr(targets).sum(-1).neg() - (targets * logits.log_softmax(-1)).sum(-1)
    flat = torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), reduction="none"
    )
    return flat.reshape(targets.shape)


def next_token_loss(architecture: Architecture) -> Callable[[Weights, Batch], Tensor]:
    """Return ``loss(weights, batch)``: the mean over a batch's contexts and scored positions, nats/token."""

    def loss(weights: Weights, batch: Batch) -> Tensor:
        logits = forward(weights, batch.contexts, architecture, batch.positions)
        return token_losses(logits, batch.targets).mean()

    return loss
