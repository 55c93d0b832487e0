"""Components: which coordinates of a model's weights are sampled, named by a short label.

    full         every weight
    1:6          one head
    1:6+1:7      several heads together, in ascending order
    layer:1      everything of layer 1
    embedding    the embedding

The ``masks`` of a model family translate a label into coordinates (``rllc.models.components``). This module
does not import torch.
"""

import re
from typing import NamedTuple

KNOWN = '"full", a head ("1:6"), heads together ("1:6+1:7"), "layer:1" or "embedding"'
NUMBER = r"(?:0|[1-9]\d*)"
HEADS = re.compile(rf"{NUMBER}:{NUMBER}(?:\+{NUMBER}:{NUMBER})*")
LAYER = re.compile(rf"layer:({NUMBER})")


class Component(NamedTuple):
    """A parsed label: a set of heads, one layer, or (both empty) all weights or the embedding."""

    label: str
    heads: tuple[tuple[int, int], ...] = ()
    layer: int | None = None


def parse(component: str) -> Component:
    """Parse a label. Raises ValueError for an unknown component or a non-canonical label."""
    if component in ("full", "embedding"):
        return Component(component)
    if layer := LAYER.fullmatch(component):
        return Component(component, layer=int(layer[1]))
    if not HEADS.fullmatch(component):
        raise ValueError(f"unknown component {component!r}: expected {KNOWN}")
    pairs = [label.split(":") for label in component.split("+")]
    heads = [(int(layer), int(head)) for layer, head in pairs]
    canonical = "+".join(f"{head[0]}:{head[1]}" for head in sorted(set(heads)))
    if component != canonical:
        raise ValueError(f"component {component!r} has its heads out of order or twice: write {canonical!r}")
    return Component(component, tuple(heads))


def kind(component: str) -> str:
    """Return ``"full"``, ``"heads"`` (exactly one head) or ``"other"``: the kind of its jobs and datasets."""
    parsed = parse(component)
    if parsed.label == "full":
        return "full"
    return "heads" if len(parsed.heads) == 1 else "other"


def check(component: str, *, n_layers: int, n_heads: int) -> Component:
    """Parse a label as ``parse`` does. Raises ValueError where the model lacks the layer or head."""
    parsed = parse(component)
    layers = [parsed.layer] if parsed.layer is not None else [layer for layer, _ in parsed.heads]
    if any(layer >= n_layers for layer in layers) or any(head >= n_heads for _, head in parsed.heads):
        raise ValueError(
            f"component {component!r} is not in this model: its layers are {_range(n_layers)}, "
            f"its heads {_range(n_heads)} in each"
        )
    return parsed


def _range(count: int) -> str:
    return f"0 to {count - 1}" if count else "none"
