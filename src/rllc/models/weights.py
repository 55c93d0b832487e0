"""A model's weights: a dict of tensors by name."""

from collections.abc import Mapping

from torch import Tensor

Weights = Mapping[str, Tensor]


def weight_norm(weights: Weights) -> float:
    """Euclidean norm of all weights together."""
    return sum(float(w.detach().double().square().sum()) for w in weights.values()) ** 0.5
