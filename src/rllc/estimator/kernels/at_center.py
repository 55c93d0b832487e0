"""One forward pass at w* over a minibatch, which keeps the tensors that chains of heads read."""

from typing import NamedTuple

import torch
from torch import Tensor

from rllc.estimator.kernels.attention import asked_at
from rllc.estimator.kernels.cross_entropy import Targets, loss_of
from rllc.estimator.kernels.folded import Frozen, Unembedding, centred, scale_of
from rllc.estimator.kernels.head_attention import Head, Projections, what_heads_read
from rllc.estimator.kernels.heads import Bounds, Layer
from rllc.models.transformer import Architecture, attention_inputs, embed
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch


class Folded(NamedTuple):
    """A checkpoint w* with its layers and unembedding folded, as the kernels read it."""

    weights: Weights
    architecture: Architecture
    layers: list[Frozen]
    unembedding: Unembedding


def forward_at_center(
    model: Folded, batch: Batch, targets: Targets, limits: Bounds
) -> tuple[list[Layer], Tensor]:
    """Return every layer at w* on the batch, and the mean loss at the scored positions.

    The last layer is at the scored positions, the others at all positions.
    """
    weights, architecture = model.weights, model.architecture
    residual, position = embed(weights, batch.contexts, architecture)
    context, count = batch.contexts.shape[1], architecture.n_layers
    everywhere = asked_at(None, context, residual)
    scored = asked_at(batch.positions, context, residual)
    layers: list[Layer] = []
    for layer in range(count):
        asked = scored if layer == count - 1 else everywhere
        inputs = attention_inputs(weights, layer, residual, position, architecture)
        read = what_heads_read(inputs, asked, batch.contexts if layer == 0 else None, architecture)
        name = f"blocks.{layer}.attn"
        heads = Head(*(weights[f"{name}.{field}"] for field in Head._fields))
        everyone, contexts = slice(0, architecture.n_heads), slice(0, len(batch.contexts))
        z, _ = Projections(heads, read, asked, contexts.stop, gradient=False).attend(everyone, contexts)
        written = torch.bmm(z, heads.W_O).sum(0) + weights[f"{name}.b_O"]
        residual = residual[:, asked.positions] + written.view(contexts.stop, -1, architecture.d_model)
        stream = centred(residual, architecture)
        onward = model.unembedding.W if layer == count - 1 else model.layers[layer + 1].W_QKV
        layers.append(Layer(read, asked, z, stream, stream @ onward))
    stream = layers[-1].residual
    scale = scale_of(stream, architecture)
    x = stream if scale is None else stream * scale
    losses, _ = loss_of(
        x.view(1, -1, x.shape[-1]), model.unembedding, targets, limit=limits.logits,
        together=limits.together, gradient=False,
    )  # fmt: skip
    return layers, losses.double().mean() - targets.entropy
