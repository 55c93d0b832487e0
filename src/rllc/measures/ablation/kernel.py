"""What the loss rises by when the output of an attention head is replaced."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.measures.architecture import architecture_of
from rllc.measures.data import Data, Measurement
from rllc.measures.errors import error_of_ratio
from rllc.measures.precise import count_at, most
from rllc.models.loss import token_losses
from rllc.models.model import Model
from rllc.models.transformer import Architecture, Weights, embed, layers, unembed
from rllc.seeds import generator
from rllc.tasks.batch import Batch
from rllc.tasks.lazy import First
from rllc.vocabulary import head_coords, head_labels

METHODS = ("zero", "mean", "resample")


def ablation(
    data: Data,
    *,
    contexts: int,
    batch_size: int,
    precise: int | None = None,
    precise_at: Collection[int] = (),
) -> Measurement:
    """Loss after minus loss before each head's output is replaced, on so many held-out contexts.

    At the steps ``precise_at`` there are ``precise`` contexts; elsewhere they are the first of these.
    """
    count = most(contexts, precise) // batch_size
    batches = data.batches("ablation", count=count, batch_size=batch_size, scored=None)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        architecture = architecture_of(model)
        chosen = First(batches, count_at(step, contexts, precise, precise_at) // batch_size)
        return ablations(weights, chosen, architecture=architecture, seed=data.seed(step))

    return measure


@torch.no_grad()
def ablations(
    weights: Weights, batches: Sequence[Batch], *, architecture: Architecture, seed: int
) -> xr.Dataset:
    """Loss after replacing the output z of one head, minus the loss before (arXiv 2410.02984, App. E).

    z is what the head hands to its W_O (so b_O stays); it is replaced at every position, and everything
    downstream is computed again. Methods:

    zero      0
    mean      the mean of z over all contexts and positions of ``batches``
    resample  z of another context of the same batch at the same position; who replaces whom is one cycle
              through the batch, drawn from the stream (seed, "resample", batch), the same for all heads

    batches  hard or soft targets; the loss is the mean over all contexts and scored positions

    Returns ``ablation`` and ``ablation_se`` (head, method), nats/token; choose a method with
    ``.sel({"method": "mean"})``, since ``.sel(method=...)`` is xarray's own argument and chooses nothing.

    The error is the standard error over contexts of after minus before, which are paired. For ``mean`` it
    takes the mean of z as given. For ``resample`` it holds the draw of contexts and of replacements: a
    context enters two differences, its own and that of the context which it replaces, and the covariance of
    the two is in the error. Heads, methods and checkpoints have the same contexts, and heads the same
    replacements, so the errors of two of them are not independent.

    Raises ValueError without batches, or where a batch has one context only, which leaves nothing to
    resample from.
    """
    if not len(batches):
        raise ValueError("no batches to evaluate the loss on: give at least one")
    means = mean_outputs(weights, batches, architecture)
    rise = np.zeros((architecture.n_layers, architecture.n_heads, len(METHODS)))
    predictions, of_contexts, scored, sources = 0, [], [], []
    for index in range(len(batches)):
        batch = batches[index]
        others = _another_context(len(batch.contexts), generator(seed, "resample", index))
        clean = passed(weights, batch.contexts, architecture, batch.positions)
        before = token_losses(unembed(weights, clean.left[-1], architecture), batch.targets)
        rises = before.new_empty((*rise.shape, len(before)), dtype=torch.float64)
        for layer, z in enumerate(clean.z):
            for head in range(architecture.n_heads):
                own = z[:, head]
                replacements = (torch.zeros_like(own), means[layer, head].expand_as(own), own[others])
                for method, replacement in enumerate(replacements):
                    changed = replaced(
                        weights, clean, {(layer, head): replacement}, architecture, batch.positions
                    )
                    after = token_losses(unembed(weights, changed.left[-1], architecture), batch.targets)
                    more = after - before
                    rise[layer, head, method] += float(more.sum(dtype=torch.float64))
                    rises[layer, head, method] = more.sum(1, dtype=torch.float64)
        predictions += before.numel()
        of_contexts.append(rises.cpu().numpy())
        sources.append(others.numpy() + len(scored))
        scored += [before.shape[1]] * len(before)
    found, counts = np.concatenate(of_contexts, -1), np.asarray(scored)
    error = error_of_ratio(found, counts)
    resampled = METHODS.index("resample")
    error[..., resampled] = error_of_ratio(found[..., resampled, :], counts, np.concatenate(sources))
    labels = head_labels(architecture.n_layers, architecture.n_heads)
    return xr.Dataset(
        {
            "ablation": (("head", "method"), rise.reshape(-1, len(METHODS)) / predictions),
            "ablation_se": (("head", "method"), error.reshape(-1, len(METHODS))),
        },
        coords={**head_coords(labels), "method": np.asarray(METHODS, dtype=object)},
    )


class Pass(NamedTuple):
    """One forward pass: ``head_outputs`` of each layer, and the residual stream after it [batch, ., model].

    position  what shortformer adds to queries and keys, as ``embed`` gives it
    """

    z: list[Tensor]
    left: list[Tensor]
    position: Tensor | None


def passed(weights: Weights, contexts: Tensor, architecture: Architecture, at: Tensor | None) -> Pass:
    """The pass of contexts as they are, asked at the positions ``at`` (None: at all)."""
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
    """The pass in which heads have other outputs, and all that is downstream of them is computed again.

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
    """Mean of every head's z over contexts and positions: [layer, head, 1, d_head]."""
    total, outputs = torch.zeros((), dtype=torch.float64), 0
    for batch in batches:
        every = layers(weights, embed(weights, batch.contexts, architecture), architecture, None)
        total = total + torch.stack([z.sum((0, 2), dtype=torch.float64) for z, _ in every])
        outputs += batch.contexts.numel()
    return (total / outputs).to(weights["unembed.W_U"].dtype)[:, :, None, :]


def _another_context(contexts: int, random: np.random.Generator) -> Tensor:
    """For each context the index of another one: a random cycle through all of them, int64 [contexts]."""
    if contexts < 2:
        raise ValueError("a batch of one context has no other to resample from: use batches of two or more")
    order = random.permutation(contexts)
    another = np.empty(contexts, dtype=np.int64)
    another[order] = np.roll(order, 1)
    return torch.from_numpy(another)
