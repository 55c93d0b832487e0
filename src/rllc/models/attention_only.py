"""Attention-only transformers as a family of models (``rllc.models.model.Model``)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from rllc.models import components, initial, patching
from rllc.models.loss import next_token_loss, token_losses
from rllc.models.transformer import Architecture, forward, shapes
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch
from rllc.vocabulary import head_labels


@dataclass(frozen=True)
class AttentionOnly:
    """The attention-only transformers of one architecture, as functions of their weights.

    >>> import numpy as np
    >>> from rllc.tasks.batch import next_token_batch
    >>> model = AttentionOnly(Architecture(1, 2, d_model=8, d_head=4, n_ctx=16, d_vocab=11))
    >>> weights = model.initial_weights(seed=0)
    >>> model.outputs(weights, next_token_batch(np.zeros((3, 16), dtype=int), np.arange(15))).shape
    torch.Size([3, 15, 11])
    >>> model.heads, sorted(model.masks("0:1"))[:2]
    (['0:0', '0:1'], ['blocks.0.attn.W_K', 'blocks.0.attn.W_O'])
    """

    architecture: Architecture
    mlps: ClassVar[list[str]] = []

    @property
    def heads(self) -> list[str]:
        return head_labels(self.architecture.n_layers, self.architecture.n_heads)

    @property
    def vocabulary(self) -> int:
        return self.architecture.d_vocab

    @property
    def longest(self) -> int:
        return self.architecture.n_ctx

    @property
    def position_embedding(self) -> str | None:
        """The name of the weights of learned positions; None without any."""
        name = "pos_embed.W_pos"
        return name if name in self.shapes() else None

    def facts(self) -> dict[str, Any]:
        """Return the arguments of ``model``."""
        return asdict(self.architecture)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return shapes(self.architecture)

    def initial_weights(self, *, seed: int, **options: Any) -> dict[str, Tensor]:
        return initial.initial_weights(self.architecture, seed=seed, **options)

    def outputs(self, weights: Weights, batch: Batch) -> Tensor:
        """Return logits: [batch, scored, vocab]."""
        return forward(weights, batch.contexts, self.architecture, batch.positions)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each prediction, nats/token."""
        return token_losses(outputs, targets)

    def loss(self, weights: Weights, batch: Batch) -> Tensor:
        return next_token_loss(self.architecture)(weights, batch)

    def predictions(self, weights: Weights, batch: Batch) -> Tensor:
        """Return the probabilities of the next token: [batch, scored, vocab]."""
        return self.outputs(weights, batch).softmax(-1)

    def masks(self, component: str) -> dict[str, Tensor] | None:
        return components.masks(component, self.architecture)

    def forward_pass(self, weights: Weights, batch: Batch) -> patching.AttentionOnlyPass:
        return patching.AttentionOnlyPass(weights, batch, self.architecture)

    def mean_outputs(self, weights: Weights, batches: Sequence[Batch]) -> dict[str, Tensor]:
        means = patching.mean_outputs(weights, batches, self.architecture)
        return patching.labelled(means, self.architecture)

    def attention_rows(self, weights: Weights, tokens: Tensor, queries: Tensor) -> Tensor:
        rows = patching.attention_rows(weights, tokens, queries, self.architecture)
        return torch.cat(list(rows), dim=1)[:, :, None]


def model(**facts: Any) -> AttentionOnly:
    """Return the model whose architecture has these fields."""
    return AttentionOnly(Architecture(**facts))
