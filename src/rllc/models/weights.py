"""A model's weights, a dict of tensors by name, and masks of their coordinates."""

from collections.abc import Mapping

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]
Masks = Mapping[str, Tensor]  # boolean; a weight without a mask has no selected coordinate


def weight_norm(weights: Weights) -> float:
    """Return the Euclidean norm of all weights together."""
    return sum(float(w.detach().double().square().sum()) for w in weights.values()) ** 0.5


def check_weights(weights: Weights, shapes: Mapping[str, tuple[int, ...]], source: object) -> None:
    """Raise ValueError, with ``source``, where names or shapes of the weights differ from ``shapes``."""
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
    """Raise ValueError, with the component, where a mask has an unknown name or does not fit its weight."""
    for name, mask in masks.items():
        if name not in weights:
            raise ValueError(
                f"component {component!r} has a mask for the unknown weight {name!r}: "
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
