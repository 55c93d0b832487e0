"""A model's weights, a dict of tensors by name, and masks of some of their coordinates."""

from collections.abc import Mapping

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]
Masks = Mapping[str, Tensor]  # boolean; a weight that is not named has no coordinate in it


def weight_norm(weights: Weights) -> float:
    """Euclidean norm of all weights together."""
    return sum(float(w.detach().double().square().sum()) for w in weights.values()) ** 0.5


def check_weights(weights: Weights, shapes: Mapping[str, tuple[int, ...]], source: object) -> None:
    """Raises ValueError, naming ``source``, where names or shapes of the weights are not ``shapes``."""
    problems = [f"{name} is missing" for name in shapes if name not in weights]
    problems += [f"{name} is unknown" for name in weights if name not in shapes]
    problems += [
        f"{name} is {list(weights[name].shape)} instead of {list(shape)}"
        for name, shape in shapes.items()
        if name in weights and tuple(weights[name].shape) != tuple(shape)
    ]
    if problems:
        more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise ValueError(f"{source} does not hold the weights of the model: {'; '.join(problems[:5])}{more}")


def check_masks(masks: Masks, weights: Weights, component: str) -> None:
    """Raises ValueError, naming the component, where a mask names no weight or does not fit it."""
    for name, mask in masks.items():
        if name not in weights:
            raise ValueError(
                f"component {component!r} has a mask for {name!r}, which is no weight: "
                f"expected one of {', '.join(sorted(weights))}"
            )
        if mask.dtype != torch.bool:
            raise ValueError(
                f"component {component!r}: the mask of {name!r} is {mask.dtype}, expected torch.bool; "
                "write `mask.bool()` if nonzero means selected"
            )
        if mask.shape != weights[name].shape:
            raise ValueError(
                f"component {component!r}: the mask of {name!r} has shape {list(mask.shape)}, "
                f"the weight {list(weights[name].shape)}: expected the same"
            )
