"""Attention-only transformers as a family of models (``rllc.models.model.Model``)."""

from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from rllc.models import components, initial
from rllc.models.loss import next_token_loss
from rllc.models.transformer import Architecture, shapes
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
        return asdict(self.architecture)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return shapes(self.architecture)

    def initial_weights(self, *, seed: int, **options: Any) -> dict[str, Tensor]:
        return initial.initial_weights(self.architecture, seed=seed, **options)

    def loss(self, weights: Weights, batch: Batch) -> Tensor:
        return next_token_loss(self.architecture)(weights, batch)

    def masks(self, component: str) -> dict[str, Tensor] | None:
        return components.masks(component, self.architecture)
