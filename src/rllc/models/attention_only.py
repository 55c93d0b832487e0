"""Attention-only transformers as a family of models (``rllc.models.model.Model``)."""

from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from rllc.models import components, initial
from rllc.models.loss import next_token_loss, token_losses
from rllc.models.transformer import Architecture, forward, shapes
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch
from rllc.vocabulary import head_labels


@dataclass(frozen=True)
class AttentionOnly:
    """The attention-only transformers of one architecture."""

    architecture: Architecture

    @property
    def heads(self) -> list[str]:
        return head_labels(self.architecture.n_layers, self.architecture.n_heads)

    def facts(self) -> dict[str, Any]:
        """What ``model`` is given."""
        return asdict(self.architecture)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return shapes(self.architecture)

    def initial_weights(self, *, seed: int, **options: Any) -> dict[str, Tensor]:
        return initial.initial_weights(self.architecture, seed=seed, **options)

    def outputs(self, weights: Weights, batch: Batch) -> Tensor:
        """Logits: [batch, scored, vocab]."""
        return forward(weights, batch.contexts, self.architecture, batch.positions)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Nats per token."""
        return token_losses(outputs, targets)

    def loss(self, weights: Weights, batch: Batch) -> Tensor:
        return next_token_loss(self.architecture)(weights, batch)

    def predictions(self, weights: Weights, batch: Batch) -> Tensor:
        """Probabilities of the next token: [batch, scored, vocab]."""
        return self.outputs(weights, batch).softmax(-1)

    def masks(self, component: str) -> dict[str, Tensor] | None:
        return components.masks(component, self.architecture)


def model(**facts: Any) -> AttentionOnly:
    """The model with these fields of its architecture."""
    return AttentionOnly(Architecture(**facts))
