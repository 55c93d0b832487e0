"""The components of a model as a table of text: coordinates, share of the weights, and tensors."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import NamedTuple, TypeVar

from torch import Tensor

from rllc.models.model import Model

TITLES = ("component", "coordinates", "of all weights", "tensor", "of its entries")
NUMBERS = (1, 2, 4)  # columns of numbers, which end in line
KINDS = ("layer", "attn", "mlp", "norm")  # with one component per layer
ENDS = ("embedding", "unembedding")
T = TypeVar("T")


class Selection(NamedTuple):
    """What a component selects.

    coordinates  number of its coordinates
    tensors      name, with ``*`` for the layer -> entries of it that the component has, and all entries
    """

    coordinates: int
    tensors: Mapping[str, tuple[int, int]]


def component_table(model: Model) -> str:
    """Return the components that can be sampled, a line for each tensor of each.

    Equal components share their lines: ``0..23:0..15`` are the 16 heads of each of 24 layers. If heads cannot
    be found, the last line says why.
    """
    weights = sum(math.prod(shape) for shape in model.shapes().values())
    lines = [TITLES, ("full", f"{weights:,}", _percent(weights, weights), "all", _percent(weights, weights))]
    last = ""
    try:
        heads = list(_heads(model))
    except ValueError as error:
        heads, last = [], f"\n{error}"
    for label, selection in (*heads, *_others(model)):
        first = (label, f"{selection.coordinates:,}", _percent(selection.coordinates, weights))
        for name, (part, whole) in selection.tensors.items():
            lines.append((*first, name, _percent(part, whole)))
            first = ("", "", "")
    return _aligned(lines) + last


def _heads(model: Model) -> Iterator[tuple[str, Selection]]:
    """Yield heads or groups: equal ones of a layer together, and layers that are equal in this."""
    prefix = "group:" if any(label.startswith("group:") for label in model.heads) else ""
    layers: dict[int, list[tuple[int, Selection]]] = {}
    for label in model.heads:
        layer, index = map(int, label.removeprefix(prefix).split(":"))
        layers.setdefault(layer, []).append((index, _selection(model.masks(label), layer)))
    for same, units in _together((layer, _together(own)) for layer, own in layers.items()):
        for indices, selection in units:
            yield f"{prefix}{_ranges(same)}:{_ranges(indices)}", selection


def _others(model: Model) -> Iterator[tuple[str, Selection]]:
    """Yield the other components that the model has, equal layers together."""
    for kind in KINDS:
        found = []
        for layer in count():
            if _optional(model, f"layer:{layer}", layer) is None:
                break
            if (selection := _optional(model, f"{kind}:{layer}", layer)) is not None:
                found.append((layer, selection))
        for layers, selection in _together(found):
            yield f"{kind}:{_ranges(layers)}", selection
    for label in ENDS:
        if (selection := _optional(model, label, None)) is not None:
            yield label, selection


def _optional(model: Model, label: str, layer: int | None) -> Selection | None:
    """Return what a component selects; None where the model does not have it."""
    try:
        return _selection(model.masks(label), layer)
    except ValueError:
        return None


def _selection(masks: Mapping[str, Tensor] | None, layer: int | None) -> Selection:
    assert masks is not None, "only full has no masks"
    tensors = {_general(name, layer): (_selected(mask), mask.numel()) for name, mask in masks.items()}
    return Selection(sum(part for part, _ in tensors.values()), tensors)


def _general(name: str, layer: int | None) -> str:
    """Return the name of a tensor with ``*`` in the place of its layer."""
    return name if layer is None else re.sub(rf"(?<=\.){layer}(?=\.)", "*", name, count=1)


def _selected(mask: Tensor) -> int:
    """Return the number of true entries. A dim along which a mask is only repeated is not read."""
    repeated = 1
    for dim, (size, stride) in enumerate(zip(mask.shape, mask.stride(), strict=True)):
        if not stride:
            mask, repeated = mask.narrow(dim, 0, 1), repeated * size
    return repeated * int(mask.sum())


def _together(numbered: Iterable[tuple[int, T]]) -> list[tuple[list[int], T]]:
    """Return each distinct value with its numbers, in the order of the first ones."""
    found: list[tuple[list[int], T]] = []
    for number, value in numbered:
        same = next((numbers for numbers, other in found if other == value), None)
        if same is None:
            found.append(([number], value))
        else:
            same.append(number)
    return found


def _ranges(numbers: list[int]) -> str:
    """Return ascending numbers as ranges, such as ``0..3,5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}..{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g} %"


def _aligned(lines: list[tuple[str, ...]]) -> str:
    """Return the lines of a table with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def cell(column: int, text: str) -> str:
        return text.rjust(widths[column]) if column in NUMBERS else text.ljust(widths[column])

    return "\n".join("  ".join(cell(*each) for each in enumerate(line)).rstrip() for line in lines)
