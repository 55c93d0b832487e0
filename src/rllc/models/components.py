"""Components: which coordinates of a weight dict are sampled, named by a short label.

    full         every weight
    1:6          one head: index 6 of dim 0 of blocks.1.attn.{W_Q, W_K, W_V, W_O, b_Q, b_K, b_V}
    1:6+1:7      several heads together, in ascending order
    layer:1      every attention weight of layer 1, b_O included
    embedding    embed.W_E (not W_pos: under shortformer it never enters the residual stream)

A head has no share in b_O or in layer norm, as in arXiv 2410.02984 and its public code: 32,864
coordinates at d_model 256, d_head 32. Only ``masks`` needs torch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rllc.vocabulary import head_label

if TYPE_CHECKING:
    from torch import Tensor

    from rllc.models.transformer import Architecture

HEAD_WEIGHTS = ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V")
KNOWN = '"full", a head ("1:6"), heads together ("1:6+1:7"), "layer:1" or "embedding"'
NUMBER = r"(?:0|[1-9]\d*)"
HEADS = re.compile(rf"{NUMBER}:{NUMBER}(?:\+{NUMBER}:{NUMBER})*")
LAYER = re.compile(rf"layer:({NUMBER})")


class Component(NamedTuple):
    """What a label names: a set of heads, one layer, or (both empty) everything or the embedding."""

    label: str
    heads: tuple[tuple[int, int], ...] = ()
    layer: int | None = None


def parse(component: str) -> Component:
    """Read a label. Raises ValueError where it is no component, or not in its canonical form."""
    if component in ("full", "embedding"):
        return Component(component)
    if layer := LAYER.fullmatch(component):
        return Component(component, layer=int(layer[1]))
    if not HEADS.fullmatch(component):
        raise ValueError(f"unknown component {component!r}: expected {KNOWN}")
    heads = [tuple(map(int, label.split(":"))) for label in component.split("+")]
    canonical = "+".join(head_label(*head) for head in sorted(set(heads)))
    if component != canonical:
        raise ValueError(f"component {component!r} has its heads out of order or twice: write {canonical!r}")
    return Component(component, tuple(heads))


def kind(component: str) -> str:
    """``"full"``, ``"heads"`` (exactly one head) or ``"other"``: which jobs and datasets it belongs to."""
    parsed = parse(component)
    if parsed.label == "full":
        return "full"
    return "heads" if len(parsed.heads) == 1 else "other"


def check(component: str, *, n_layers: int, n_heads: int) -> Component:
    """``parse``, and ValueError where the model lacks such a layer or head."""
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


def masks(component: str, architecture: Architecture) -> dict[str, Tensor] | None:
    """Boolean masks of the sampled coordinates, by weight name; ``None`` is everything.

    A weight that is not named is frozen. Raises ValueError where the component is unknown or not in
    the model.
    """
    import torch

    from rllc.models.transformer import shapes

    parsed = check(component, n_layers=architecture.n_layers, n_heads=architecture.n_heads)
    table = shapes(architecture)
    if parsed.label == "full":
        return None
    if parsed.label == "embedding":
        return {"embed.W_E": torch.ones(table["embed.W_E"], dtype=torch.bool)}
    if parsed.layer is not None:
        prefix = f"blocks.{parsed.layer}.attn."
        return {
            name: torch.ones(shape, dtype=torch.bool)
            for name, shape in table.items()
            if name.startswith(prefix)
        }
    chosen: dict[str, Tensor] = {}
    for layer, head in parsed.heads:
        for weight in HEAD_WEIGHTS:
            name = f"blocks.{layer}.attn.{weight}"
            mask = chosen.setdefault(name, torch.zeros(table[name], dtype=torch.bool))
            mask[head] = True
    return chosen
