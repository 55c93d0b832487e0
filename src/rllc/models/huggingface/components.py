"""Components of a transformers model: a mask of coordinates for each label.

    1:6          the rows of head 6 in the query, key and value projections of layer 1, biases included, and
                 the columns of the output projection that read it (not its bias)
    group:1:0    likewise, the query heads that share the first keys and values of layer 1
    attn:1       every weight of the attention of layer 1, biases and norms of queries and keys included
    mlp:1        every weight of the MLP of layer 1, or of its mixture of experts
    norm:1       the norms of layer 1, without those inside its attention
    layer:1      every weight of layer 1
    embedding    the token embedding
    unembedding  the weights that give the logits, where they are not the embedding
    weights:mlp  every weight in whose name ``mlp`` is found

Which modules these are, ``structure`` finds by name, and ``probe`` by gradients.
"""

from collections.abc import Iterable
from functools import cached_property

import torch
from torch import Tensor, nn

from rllc.components import Part, parse
from rllc.models.huggingface.probe import AttentionUnits, Unit, find_units
from rllc.models.huggingface.structure import LayerModules, find_layers
from rllc.models.named_weights import aliases_of, matching
from rllc.vocabulary import head_label


class Components:
    """The components of one module: labels of its heads or groups, and the masks of a label."""

    def __init__(self, module: nn.Module):
        self.module = module
        self._names = {id(weight): name for name, weight in module.named_parameters()}

    @cached_property
    def layers(self) -> list[LayerModules]:
        return find_layers(self.module)

    @cached_property
    def units(self) -> dict[int, AttentionUnits]:
        """The units of every layer with attention. Raises ValueError where they cannot be found."""
        here = {
            index: layer.attention for index, layer in enumerate(self.layers) if layer.attention is not None
        }
        return find_units(self.module, here)

    @cached_property
    def grouped(self) -> bool:
        """Whether heads share keys and values."""
        return any(len(unit.heads) > 1 for found in self.units.values() for unit in found.units)

    @cached_property
    def heads(self) -> list[str]:
        """Labels of all heads, layer by layer; of all groups where heads share keys and values."""
        return [
            f"group:{layer}:{index}" if self.grouped else head_label(layer, index)
            for layer, found in self.units.items()
            for index in range(len(found.units))
        ]

    def masks(self, component: str) -> dict[str, Tensor] | None:
        """Return boolean masks of a component's coordinates by weight name; None: every weight.

        The masks of single components are views that take little memory. Raises ValueError where the
        component is unknown or not in the model.
        """
        parsed = parse(component)
        if parsed.label == "full":
            return None
        shapes = {name: tuple(weight.shape) for name, weight in self.module.named_parameters()}
        chosen: dict[str, Tensor] = {}
        for part in parsed.parts:
            if part.kind == "weights":
                return matching(part, shapes, aliases_of(self.module))
            for weight, mask in self._masks(part, component):
                name = self._names[id(weight)]
                chosen[name] = chosen[name] | mask if name in chosen else mask
        return {name: mask.expand(shapes[name]) for name, mask in chosen.items()}

    def _masks(self, part: Part, component: str) -> Iterable[tuple[nn.Parameter, Tensor]]:
        """Return the weights of a part, each with a mask that broadcasts to its shape."""
        if part.kind in ("embedding", "unembedding"):
            return _whole(self._ends(part, component))
        if part.layer >= len(self.layers):
            raise self._absent(component)
        if part.kind in ("head", "group"):
            return self._unit(part, component)
        layer = self.layers[part.layer]
        if part.kind == "mlp" and layer.others:
            raise ValueError(
                f"component {component!r}: layer {part.layer} has the unknown modules "
                f'{", ".join(layer.others)}, which may be parts of its MLP; sample "layer:{part.layer}"'
            )
        modules = {
            "attn": [] if layer.attention is None else [layer.attention],
            "mlp": layer.mlp,
            "norm": layer.norms,
            "layer": [layer.module],
        }
        found = _whole(modules[part.kind])
        if not found:
            raise self._absent(component, f"layer {part.layer} has no {part.kind} with weights")
        return found

    def _unit(self, part: Part, component: str) -> list[tuple[nn.Parameter, Tensor]]:
        """Return the weights of a head or a group, with masks."""
        attention = self.units.get(part.layer)
        if attention is None:
            raise self._absent(component, f"layer {part.layer} has no attention")
        if part.kind == "head" and self.grouped:
            raise self._shared(part, component, attention)
        if part.kind == "group" and not self.grouped:
            raise self._absent(component, "its heads have keys and values of their own")
        if part.index >= len(attention.units):
            raise self._absent(component)
        return _masks_of(attention.units[part.index], attention.output)

    def _ends(self, part: Part, component: str) -> list[nn.Module]:
        """Return the token embedding, or the unembedding. Raises ValueError where both are one matrix."""
        embedding = self.module.get_input_embeddings()  # pyright: ignore[reportCallIssue]
        if part.kind == "embedding":
            return [embedding]
        unembedding = self.module.get_output_embeddings()  # pyright: ignore[reportCallIssue]
        if unembedding is None:
            raise self._absent(component)
        if any(weight is embedding.weight for weight in unembedding.parameters()):
            raise ValueError(
                f"component {component!r} is tied to embedding in this model, both are one matrix: sample "
                '"embedding" instead'
            )
        return [unembedding]

    def _shared(self, part: Part, component: str, attention: AttentionUnits) -> ValueError:
        groups = [index for index, unit in enumerate(attention.units) if part.index in unit.heads]
        if not groups:
            return self._absent(component)
        group = f"group:{part.layer}:{groups[0]}"
        return ValueError(
            f"component {component!r} is one of the heads {_listed(attention.units[groups[0]])} of layer "
            f"{part.layer}, which share their keys and values: sample them together as {group!r}"
        )

    def _absent(self, component: str, reason: str = "") -> ValueError:
        """Return the error of a component that the model lacks, with the components that it has."""
        last = len(self.layers) - 1
        try:
            heads = f"{self.heads[0]} to {self.heads[-1]}"
        except (ValueError, IndexError):
            heads = "no heads that rllc can find"
        return ValueError(
            f"component {component!r} is not in this model{f': {reason}' if reason else ''}; it has {heads}, "
            f"layers 0 to {last} (attn, mlp, norm, layer), embedding and unembedding"
        )


def _whole(modules: Iterable[nn.Module]) -> list[tuple[nn.Parameter, Tensor]]:
    """Return all weights of modules, each with a mask that broadcasts to its shape."""
    return [
        (weight, torch.ones([1] * weight.ndim, dtype=torch.bool, device=weight.device))
        for module in modules
        for weight in module.parameters()
    ]


def _masks_of(unit: Unit, output: nn.Module) -> list[tuple[nn.Parameter, Tensor]]:
    """Return the weights of a unit: rows of the projections that it depends on, columns of the output."""
    masks: list[tuple[nn.Parameter, Tensor]] = []
    for module, rows in unit.rows.items():
        own = dict(module.named_parameters())
        matrix = rows[:, None] if isinstance(module, nn.Linear) else rows[None, :]
        masks.append((own["weight"], matrix))
        if "bias" in own:
            masks.append((own["bias"], rows))
    columns = unit.columns[None, :] if isinstance(output, nn.Linear) else unit.columns[:, None]
    return [*masks, (dict(output.named_parameters())["weight"], columns)]


def _listed(unit: Unit) -> str:
    return ", ".join(map(str, unit.heads))
