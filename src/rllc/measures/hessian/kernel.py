"""Trace of the Hessian of the loss, of the whole model and of every head, by Hutchinson's estimator."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import xarray as xr
from torch import Tensor

from rllc.measures.data import Data, Measurement
from rllc.measures.traces import Reading, form_of, hutchinson, of_form, of_product
from rllc.models.model import Model
from rllc.models.weights import Masks, Weights
from rllc.tasks.batch import Batch


def hessian(
    data: Data, *, probes: int, batch_size: int, scored_positions: int | None, contexts_at_once: int | None
) -> Measurement:
    """Traces of the whole Hessian and of every head's block, one Rademacher probe per minibatch."""
    batches = data.batches("hessian", count=probes, batch_size=batch_size, scored=scored_positions)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        return hessian_traces(
            model.loss,
            weights,
            batches,
            heads=head_masks(model),
            probes=probes,
            seed=data.seed(step),
            contexts_at_once=contexts_at_once,
        )

    return measure


def head_masks(model: Model) -> dict[str, Masks]:
    """Masks of every head, by its label."""
    every: dict[str, Masks] = {}
    for head in model.heads:
        masks = model.masks(head)
        assert masks is not None  # None stands for every weight, and a head has only some
        every[head] = masks
    return every


def hessian_traces(
    loss: Callable[[dict[str, Tensor], Any], Tensor],
    weights: Weights,
    batches: Sequence[Any],
    *,
    heads: Mapping[str, Masks],
    probes: int,
    seed: int,
    masked: bool = False,
    contexts_at_once: int | None = None,
) -> xr.Dataset:
    """Hutchinson estimates (traces.py) of the trace of the Hessian and of its block of every head.

    One Hessian-vector product serves the whole model and all heads; ``masked=True`` probes each head's
    coordinates alone: the same mean with less noise, for one more product per head and probe.

    loss   ``loss(weights, batch)``: mean loss of the batch, twice differentiable
    batches, heads, probes, seed, errors  as of ``traces.hutchinson``
    contexts_at_once  a product is the mean of those of so many contexts of a ``Batch``, one after the other,
           which bounds memory: the same to rounding. None: all at once

    Returns ``hessian_trace``, ``hessian_trace_se`` (no dims), ``hessian_trace_head``,
    ``hessian_trace_head_se`` (head), nats/token.
    """

    def hessian(batch: Any) -> Reading:
        if contexts_at_once is None:
            times = hessian_times(loss, weights, batch)
        else:
            times = _in_parts(loss, weights, batch.split(contexts_at_once))
        return of_form(form_of(times)) if masked else of_product(times)

    of = {"heads": heads, "probes": probes, "seed": seed}
    return hutchinson(hessian, weights, batches, name="hessian_trace", **of)


def hessian_times(
    loss: Callable[[dict[str, Tensor], Any], Tensor], weights: Weights, batch: Any
) -> Callable[[Weights], dict[str, Tensor]]:
    """The product v -> H v, with H the Hessian of ``loss(., batch)`` at ``weights``.

    The gradient is computed once, with its graph, and a product is one backward pass through it
    (Pearlmutter 1994). A vector that names only some weights is 0 elsewhere, and its product is returned
    at those weights only.
    """
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    gradient = torch.autograd.grad(
        loss(leaves, batch), list(leaves.values()), create_graph=True, materialize_grads=True
    )
    by_name = dict(zip(leaves, gradient, strict=True))

    def times(vector: Weights) -> dict[str, Tensor]:
        curved = [name for name in vector if by_name[name].requires_grad]
        if not curved:
            return {name: torch.zeros_like(v) for name, v in vector.items()}
        product = torch.autograd.grad(
            [by_name[name] for name in curved],
            [leaves[name] for name in vector],
            grad_outputs=[vector[name] for name in curved],
            retain_graph=True,
            materialize_grads=True,
        )
        return dict(zip(vector, product, strict=True))

    return times


def _in_parts(
    loss: Callable[[dict[str, Tensor], Any], Tensor], weights: Weights, parts: Sequence[Batch]
) -> Callable[[Weights], dict[str, Tensor]]:
    """The product of the mean over a batch in parts; no part's graph outlives its product."""
    total = sum(len(part.contexts) for part in parts)

    def times(vector: Weights) -> dict[str, Tensor]:
        products = {name: torch.zeros_like(v) for name, v in vector.items()}
        for part in parts:
            share = len(part.contexts) / total
            for name, product in hessian_times(loss, weights, part)(vector).items():
                products[name].add_(product, alpha=share)
        return products

    return times
