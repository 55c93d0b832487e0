"""Forward passes of a transformers model in which outputs of heads and MLPs are recorded and replaced."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from rllc.models.huggingface.loss import logits
from rllc.models.huggingface.sites import Sites, observed
from rllc.models.loss import token_losses
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch


class HuggingFacePass:
    """A pass of a minibatch as a ``rllc.models.model.ForwardPass``.

    Where outputs are replaced, the layers ahead of the first replacement are not computed again: they return
    what they returned in the clean pass.
    """

    def __init__(
        self,
        module: nn.Module,
        sites: Sites,
        weights: Weights,
        batch: Batch,
        *,
        keep: bool,
        outputs: Mapping[str, Tensor] | None = None,
        clean: "HuggingFacePass | None" = None,
    ):
        """Run the module.

        keep     ``rllc.models.huggingface.loss.keeps_logits``
        outputs  label -> the output in the place of the component's own
        clean    the pass of the minibatch with nothing replaced; None: ``outputs`` is empty
        """
        self._module, self._sites, self._weights, self._batch = module, sites, weights, batch
        self._keep, self._replaced, self._clean = keep, dict(outputs or {}), clean
        self._attention: dict[int, Tensor] | None = None
        layers = [layer.module for layer in sites.components.layers]
        if clean is None:
            with observed(sites, batch.contexts) as self._seen, recorded(layers) as self._returned:
                found = logits(module, weights, batch.contexts, batch.positions, keep=keep)
        else:
            ahead = min(map(sites.layer, self._replaced))
            with observed(sites, batch.contexts, outputs) as seen, skipped(layers[:ahead], clean._returned):
                found = logits(module, weights, batch.contexts, batch.positions, keep=keep)
            self._seen = clean._seen | seen
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
        return HuggingFacePass(
            self._module,
            self._sites,
            self._weights,
            self._batch,
            keep=self._keep,
            outputs=self._replaced | dict(outputs),
            clean=self._clean or self,
        )


@contextmanager
def recorded(layers: Sequence[nn.Module]) -> Iterator[list[Any]]:
    """Context manager: record copies of what layers return, in the order in which they run."""
    returned: list[Any] = []
    hooks = [
        layer.register_forward_hook(lambda *call: returned.append(_copied(call[-1]))) for layer in layers
    ]
    try:
        yield returned
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def skipped(layers: Sequence[nn.Module], returned: Sequence[Any]) -> Iterator[None]:
    """Context manager: layers compute nothing and return copies of what they returned before."""
    own = [layer.__dict__.get("forward") for layer in layers]
    try:
        for layer, before in zip(layers, returned, strict=False):
            layer.forward = lambda *given, _before=before, **named: _copied(_before)
        yield
    finally:
        for layer, forward in zip(layers, own, strict=True):
            layer.__dict__.pop("forward", None)
            if forward is not None:
                layer.forward = forward


def _copied(returned: Any) -> Any:
    """Return what a layer returned, with copies of tensors, which other layers may change in place."""
    if isinstance(returned, tuple):
        return tuple(map(_copied, returned))
    return returned.clone() if isinstance(returned, Tensor) else returned


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
