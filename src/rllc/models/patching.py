"""Forward passes of attention-only transformers in which outputs of heads are replaced."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from rllc.models.loss import token_losses
from rllc.models.transformer import (
    Architecture,
    Weights,
    attention,
    attention_inputs,
    attention_weights,
    embed,
    layers,
    unembed,
)
from rllc.tasks.batch import Batch
from rllc.vocabulary import head_labels


class Pass(NamedTuple):
    """One forward pass: ``head_outputs`` of each layer, and the residual stream after it [batch, ., model].

    position  what shortformer adds to queries and keys, as ``embed`` gives it
    """

    z: list[Tensor]
    left: list[Tensor]
    position: Tensor | None


def passed(weights: Weights, contexts: Tensor, architecture: Architecture, at: Tensor | None) -> Pass:
    """Return the pass of contexts as they are, with predictions at the positions ``at`` (None: at all)."""
    stream = embed(weights, contexts, architecture)
    every = list(layers(weights, stream, architecture, at))
    return Pass([z for z, _ in every], [left for _, left in every], stream[1])


def replaced(
    weights: Weights,
    clean: Pass,
    outputs: Mapping[tuple[int, int], Tensor],
    architecture: Architecture,
    at: Tensor | None,
) -> Pass:
    """Return the pass in which heads have other outputs, and all that follows is computed again.

    outputs  (layer, head) -> z [batch, position, d_head] or what expands to it; none: ``clean`` itself
    at       as it was for ``clean``
    """
    if not outputs:
        return clean
    first = min(layer for layer, _ in outputs)
    every = list(zip(clean.z[: first + 1], clean.left[: first + 1], strict=True))
    for layer in range(first, architecture.n_layers):
        if layer > first:
            stream = (every[-1][1], clean.position)
            every.append(next(layers(weights, stream, architecture, at, layer)))
        z, left = every.pop()
        for head in sorted(head for of, head in outputs if of == layer):
            new = outputs[layer, head]
            left = left + (new - z[:, head]) @ weights[f"blocks.{layer}.attn.W_O"][head]
            z = torch.cat([z[:, :head], new.expand_as(z[:, head])[:, None], z[:, head + 1 :]], 1)
        every.append((z, left))
    return Pass([z for z, _ in every], [left for _, left in every], clean.position)


def mean_outputs(weights: Weights, batches: Sequence[Batch], architecture: Architecture) -> Tensor:
    """Return the mean of every head's z over contexts and positions: [layer, head, 1, d_head]."""
    total, outputs = torch.zeros((), dtype=torch.float64), 0
    for batch in batches:
        every = layers(weights, embed(weights, batch.contexts, architecture), architecture, None)
        total = total + torch.stack([z.sum((0, 2), dtype=torch.float64) for z, _ in every])
        outputs += batch.contexts.numel()
    return (total / outputs).to(weights["unembed.W_U"].dtype)[:, :, None, :]


class AttentionOnlyPass:
    """A ``Pass`` of a minibatch as a ``rllc.models.model.ForwardPass``, whose heads have labels."""

    def __init__(
        self, weights: Weights, batch: Batch, architecture: Architecture, patched: Pass | None = None
    ):
        self._weights, self._batch, self._architecture = weights, batch, architecture
        at = batch.positions
        self._pass = passed(weights, batch.contexts, architecture, at) if patched is None else patched
        self._seen: tuple[int, Tensor] | None = None  # the last layer whose attention was asked for

    @cached_property
    def losses(self) -> Tensor:
        logits = unembed(self._weights, self._pass.left[-1], self._architecture)
        return token_losses(logits, self._batch.targets)

    def output(self, component: str) -> Tensor:
        layer, head = indices(component)
        return self._pass.z[layer][:, head]

    def attention(self, head: str) -> Tensor:
        layer, index = indices(head)
        if self._seen is None or self._seen[0] != layer:
            entering = self._entering(layer)
            inputs = attention_inputs(self._weights, layer, entering, self._pass.position, self._architecture)
            self._seen = layer, attention_weights(self._weights, layer, inputs[0])
        return self._seen[1][:, index]

    def replaced(self, outputs: Mapping[str, Tensor]) -> "AttentionOnlyPass":
        by_index = {indices(head): output for head, output in outputs.items()}
        weights, batch, architecture = self._weights, self._batch, self._architecture
        patched = replaced(weights, self._pass, by_index, architecture, batch.positions)
        return AttentionOnlyPass(weights, batch, architecture, patched)

    def _entering(self, layer: int) -> Tensor:
        """Return the residual stream that enters a layer: [batch, context, model]."""
        if layer:
            return self._pass.left[layer - 1]
        return embed(self._weights, self._batch.contexts, self._architecture)[0]


def indices(head: str) -> tuple[int, int]:
    """Return layer and index of a head's label."""
    layer, index = head.split(":")
    return int(layer), int(index)


def labelled(means: Tensor, architecture: Architecture) -> dict[str, Tensor]:
    """Return numbers of every head, [layer, head, ...], by its label."""
    labels = head_labels(architecture.n_layers, architecture.n_heads)
    return dict(zip(labels, means.flatten(0, 1), strict=True))


def attention_rows(
    weights: Weights, tokens: Tensor, queries: Tensor, architecture: Architecture
) -> Iterator[Tensor]:
    """Yield, for each layer, the attention of one query per sequence: [sequence, head, context].

    All layers but the last are also computed at all positions, for the residual stream.
    """
    residual, position = embed(weights, tokens, architecture)
    for layer in range(architecture.n_layers):
        name = f"blocks.{layer}.attn"
        inputs = attention_inputs(weights, layer, residual, position, architecture)
        asked = inputs[0][torch.arange(len(tokens), device=tokens.device), queries]
        query = torch.einsum("bm,hmd->bhd", asked, weights[f"{name}.W_Q"]) + weights[f"{name}.b_Q"]
        # q . (W_K x + b_K) = (q W_K^T) . x + q . b_K. Applying W_K to the one query saves the keys of all
        # positions and heads. q . b_K is the same for all keys, so the softmax ignores it.
        carried = torch.einsum("bhd,hmd->bhm", query, weights[f"{name}.W_K"])
        scores = torch.einsum("bhm,bpm->bhp", carried, inputs[0]) / architecture.d_head**0.5
        future = torch.arange(tokens.shape[1], device=tokens.device) > queries[:, None]
        yield scores.masked_fill(future[:, None], float("-inf")).softmax(-1)
        if layer < architecture.n_layers - 1:
            residual = residual + attention(weights, layer, inputs)
