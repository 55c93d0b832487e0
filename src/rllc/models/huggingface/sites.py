"""The places of a transformers model where outputs of heads and MLPs are read and replaced.

Hooks stand at two places of a layer. Before the output projection of its attention, where slices of the input
are the outputs z of heads (``probe``). After its MLP, whose output is what it adds to the residual stream,
before a norm that some architectures put there. Hooks are on the module only while it runs.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from rllc.components import parse
from rllc.models.huggingface.components import Components
from rllc.models.huggingface.structure import LayerModules

SEQUENTIAL = {("fc1", "fc2")}  # names of modules that together are one MLP, the last of which writes


class Sites:
    """Where outputs of the heads and MLPs of one module are read and replaced."""

    def __init__(self, components: Components):
        self.components = components
        self.mlps = {
            f"mlp:{index}": writer
            for index, layer in enumerate(components.layers)
            if (writer := _writer(layer)) is not None
        }

    def module(self, component: str) -> nn.Module:
        """Return the module at which a component's output is read: an output projection, or an MLP."""
        if component in self.mlps:
            return self.mlps[component]
        return self.components.units[self.layer(component)].output

    def columns(self, head: str) -> Tensor:
        """Return which inputs of the output projection are the output of a head or group: boolean."""
        layer, index = self._index(head)
        return self.components.units[layer].units[index].columns

    def members(self, head: str) -> tuple[int, list[int]]:
        """Return the layer of a head or group, and its heads in that layer."""
        layer, index = self._index(head)
        return layer, list(self.components.units[layer].units[index].heads)

    def layer(self, component: str) -> int:
        """Return the layer of a head, a group or an MLP."""
        return self._index(component)[0]

    def _index(self, component: str) -> tuple[int, int]:
        (part,) = parse(component).parts
        return part.layer, part.index


@contextmanager
def observed(
    sites: Sites, tokens: Tensor, outputs: Mapping[str, Tensor] | None = None
) -> Iterator[dict[nn.Module, Tensor]]:
    """Context manager: record the outputs of all heads and MLPs while the module runs, and replace some.

    tokens   the contexts on which it runs: [batch, position]
    outputs  label -> output in the place of the component's own

    Yields module (``Sites.module``) -> z of all heads of a layer [batch, position, inputs], or what an MLP
    adds [batch, position, model]: after the replacement. The dict fills as the module runs.
    """
    seen: dict[nn.Module, Tensor] = {}
    new: dict[nn.Module, list[tuple[str, Tensor]]] = {}
    for component, output in (outputs or {}).items():
        new.setdefault(sites.module(component), []).append((component, output))

    def entering(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        name = None if given else next(iter(named))
        z = given[0] if name is None else named[name]
        by_position = z.reshape(*tokens.shape, -1)
        if module in new:
            by_position = by_position.clone()
            for head, output in new[module]:
                by_position[..., sites.columns(head)] = output
            z = by_position.view_as(z)
        seen[module] = by_position
        return ((z, *given[1:]), named) if name is None else (given, named | {name: z})

    def leaving(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], returned: Any) -> Any:
        written = returned[0] if isinstance(returned, tuple) else returned
        residual = _residual(module, given, named)
        own = written if residual is None else written - residual
        if module not in new:
            seen[module] = own.reshape(*tokens.shape, -1).clone()  # Falcon adds to it in place
            return None
        ((_, output),) = new[module]
        seen[module] = output.expand(*tokens.shape, own.shape[-1])
        own = seen[module].reshape(own.shape).clone()
        written = own if residual is None else own + residual
        return (written, *returned[1:]) if isinstance(returned, tuple) else written

    units, writers = sites.components.units.values(), sites.mlps.values()
    hooks = [unit.output.register_forward_pre_hook(entering, with_kwargs=True) for unit in units]
    hooks += [writer.register_forward_hook(leaving, with_kwargs=True) for writer in writers]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _writer(layer: LayerModules) -> nn.Module | None:
    """Return the module whose output the MLP of a layer adds to the residual stream; None: not known."""
    names = {id(module): name for name, module in layer.module.named_children()}
    if not layer.mlp or layer.others:
        return None
    if len(layer.mlp) > 1 and tuple(names[id(module)] for module in layer.mlp) not in SEQUENTIAL:
        return None
    return list(layer.mlp)[-1]


def _residual(module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> Tensor | None:
    """Return the residual stream that an MLP adds its output to (BLOOM, MPT); None: the layer adds it."""
    names = list(inspect.signature(module.forward).parameters)
    if "residual" not in names:
        return None
    return named["residual"] if "residual" in named else given[names.index("residual")]
