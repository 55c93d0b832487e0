"""Forward passes of a transformers model in which outputs of heads and MLPs are recorded and replaced.

Hooks stand at two places of a layer. Before the output projection of its attention, where slices of the input
are the outputs z of heads (``probe``). After its MLP, whose output is what it adds to the residual stream,
before a norm that some architectures put there. Hooks are on the module only while it runs.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from rllc.components import parse
from rllc.models.huggingface.components import Components
from rllc.models.huggingface.loss import logits
from rllc.models.huggingface.structure import LayerModules
from rllc.models.loss import token_losses
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch

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
        return self.components.units[self._index(component)[0]].output

    def columns(self, head: str) -> Tensor:
        """Return which inputs of the output projection are the output of a head or group: boolean."""
        layer, index = self._index(head)
        return self.components.units[layer].units[index].columns

    def members(self, head: str) -> tuple[int, list[int]]:
        """Return the layer of a head or group, and its heads in that layer."""
        layer, index = self._index(head)
        return layer, list(self.components.units[layer].units[index].heads)

    def _index(self, head: str) -> tuple[int, int]:
        (part,) = parse(head).parts
        return part.layer, part.index


class HuggingFacePass:
    """A pass of a minibatch as a ``rllc.models.model.ForwardPass``. Each pass runs the whole module."""

    def __init__(
        self,
        module: nn.Module,
        sites: Sites,
        weights: Weights,
        batch: Batch,
        *,
        keep: bool,
        outputs: Mapping[str, Tensor] | None = None,
    ):
        """Run the module.

        keep     ``rllc.models.huggingface.loss.keeps_logits``
        outputs  label -> the output in the place of the component's own
        """
        self._module, self._sites, self._weights, self._batch = module, sites, weights, batch
        self._keep, self._replaced = keep, dict(outputs or {})
        self._attention: dict[int, Tensor] | None = None
        with observed(sites, batch.contexts, self._replaced) as self._seen:
            found = logits(module, weights, batch.contexts, batch.positions, keep=keep)
        self.losses = token_losses(found, batch.targets)

    def output(self, component: str) -> Tensor:
        seen = self._seen[self._sites.module(component)]
        return seen if component in self._sites.mlps else seen[..., self._sites.columns(component)]

    def attention(self, head: str) -> Tensor:
        if self._attention is None:
            tokens = self._batch.contexts
            with observed(self._sites, tokens, self._replaced):
                self._attention = attentions(self._module, self._sites, self._weights, tokens)
        layer, members = self._sites.members(head)
        return self._attention[layer][:, members].mean(1)

    def replaced(self, outputs: Mapping[str, Tensor]) -> "HuggingFacePass":
        if not outputs:
            return self
        every = self._replaced | dict(outputs)
        return HuggingFacePass(
            self._module, self._sites, self._weights, self._batch, keep=self._keep, outputs=every
        )


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


@torch.no_grad()
def mean_outputs(
    module: nn.Module, sites: Sites, weights: Weights, batches: Sequence[Batch], *, keep: bool
) -> dict[str, Tensor]:
    """Return the mean output of every head and MLP over all contexts and positions: [1, width]."""
    totals: dict[nn.Module, Tensor] = {}
    count = 0
    for batch in batches:
        with observed(sites, batch.contexts) as seen:
            logits(module, weights, batch.contexts, batch.positions[:1], keep=keep)
        for place, output in seen.items():
            total = output.sum((0, 1), dtype=torch.float64)
            totals[place] = totals[place] + total if place in totals else total
        count += batch.contexts.numel()
    dtype = next(iter(weights.values())).dtype
    means = {place: (total / count).to(dtype)[None] for place, total in totals.items()}
    found = {head: means[sites.module(head)][:, sites.columns(head)] for head in sites.components.heads}
    return found | {mlp: means[sites.module(mlp)] for mlp in sites.mlps}


def attentions(module: nn.Module, sites: Sites, weights: Weights, tokens: Tensor) -> dict[int, Tensor]:
    """Return the attention of every layer that has some: [batch, head, query, key].

    Raises ValueError where the module does not return it: its attention is not eager.
    """
    given = {"input_ids": tokens, "use_cache": False, "output_attentions": True}
    returned = torch.func.functional_call(module, dict(weights), (), given).attentions
    found = [each for each in returned or () if each is not None]
    layers = list(sites.components.units)
    if len(found) != len(layers):
        raise ValueError(
            f"{type(module).__name__} returns the attention patterns of {len(found)} of {len(layers)} layers "
            'with attention: expected those of all; load it with attn_implementation="eager"'
        )
    return dict(zip(layers, found, strict=True))


def attention_rows(
    module: nn.Module, sites: Sites, weights: Weights, tokens: Tensor, queries: Tensor
) -> Tensor:
    """Return the attention of one query per context: [context, head, member, key]."""
    every = torch.arange(len(tokens), device=tokens.device)
    patterns = attentions(module, sites, weights, tokens)
    rows = {layer: pattern[every, :, queries] for layer, pattern in patterns.items()}
    of_heads = [sites.members(head) for head in sites.components.heads]
    return torch.stack([rows[layer][:, members] for layer, members in of_heads], 1)


def _writer(layer: LayerModules) -> nn.Module | None:
    """Return the module whose output the MLP of a layer adds to the residual stream; None: not known."""
    names = {id(module): name for name, module in layer.module.named_children()}
    if not layer.mlp or layer.others:
        return None
    if len(layer.mlp) > 1 and tuple(names[id(module)] for module in layer.mlp) not in SEQUENTIAL:
        return None
    *_, last = layer.mlp
    return last


def _residual(module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> Tensor | None:
    """Return the residual stream that an MLP adds its output to (BLOOM, MPT); None: the layer adds it."""
    names = list(inspect.signature(module.forward).parameters)
    if "residual" not in names:
        return None
    return named["residual"] if "residual" in named else given[names.index("residual")]
