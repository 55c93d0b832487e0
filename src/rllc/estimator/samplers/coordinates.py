"""The coordinates that a component samples, as one flat vector."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from rllc.models.weights import Masks, Weights, check_masks
from rllc.sampler_config import shown

DTYPES = (torch.float32, torch.float64)


@dataclass(frozen=True)
class Part:
    """The selected coordinates of one weight: ``flat[start:stop]``, at ``index`` (None: all)."""

    name: str
    start: int
    stop: int
    index: Tensor | None


@dataclass(frozen=True)
class Coordinates:
    """The True coordinates of a mask, ordered by weight name and row-major within a weight."""

    parts: tuple[Part, ...]
    size: int

    def gather(self, weights: Weights) -> Tensor:
        """Return the selected coordinates as a new vector [n]."""
        flat = (weights[part.name].detach().reshape(-1) for part in self.parts)
        return torch.cat(
            [w if part.index is None else w[part.index] for w, part in zip(flat, self.parts, strict=True)]
        )

    def insert(self, weights: Weights, flat: Tensor) -> dict[str, Tensor]:
        """Return ``weights`` with the selected coordinates from ``flat`` [n]; differentiable in ``flat``."""
        placed = dict(weights)
        # Split, since each slice would have a full-length gradient vector, zero outside the slice.
        pieces = flat.split([part.stop - part.start for part in self.parts])
        for part, values in zip(self.parts, pieces, strict=True):
            frozen = weights[part.name]
            if part.index is not None:
                values = frozen.reshape(-1).index_copy(0, part.index, values)
            placed[part.name] = values.view(frozen.shape)
        return placed


def coordinates(weights: Weights, masks: Masks | None, *, component: str) -> Coordinates:
    """Return the coordinates that a component selects.

    masks      boolean, by weight name, shaped like the weights. A weight without a mask is frozen. None
               selects every floating-point weight
    component  its name, for messages

    Raises ValueError where a mask has an unknown name, another shape or is not boolean, where nothing is
    selected, or where the selected weights differ in dtype or are neither float32 nor float64 (shorter types
    would lose small moves to rounding).
    """
    if masks is None:
        masks = {
            name: torch.ones(w.shape, dtype=torch.bool)
            for name, w in weights.items()
            if w.is_floating_point()
        }
    if not isinstance(masks, Mapping) or not all(isinstance(mask, Tensor) for mask in masks.values()):
        raise ValueError(
            f"components[{component!r}] is {shown(masks)}: expected boolean tensors by weight name, or None "
            "for all weights"
        )
    check_masks(masks, weights, component)
    parts, stop = [], 0
    for name in sorted(masks):
        mask = masks[name].reshape(-1).to(weights[name].device)
        index = mask.nonzero().squeeze(1)
        if not len(index):
            continue
        start, stop = stop, stop + len(index)
        parts.append(Part(name, start, stop, None if len(index) == len(mask) else index))
    if not parts:
        raise ValueError(f"component {component!r} selects no coordinate: at least one must be True")
    kinds = {weights[part.name].dtype for part in parts}
    if len(kinds) > 1 or not kinds <= set(DTYPES):
        raise ValueError(
            f"component {component!r} selects weights of dtype {', '.join(sorted(map(str, kinds)))}: "
            "expected one floating-point dtype, torch.float32 or torch.float64; convert the weights"
        )
    return Coordinates(tuple(parts), stop)
