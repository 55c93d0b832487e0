"""Trace of the Hessian of the loss, of the whole model and of every head, by Hutchinson's estimator."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
import xarray as xr
from torch import Tensor

from rllc.measures.data import Data, Measurement
from rllc.measures.precise import count_at, most
from rllc.measures.traces import Reading, form_of, hutchinson, of_form, of_product
from rllc.models.model import Model
from rllc.models.weights import Masks, Weights
from rllc.tasks.batch import Batch
from rllc.tasks.lazy import First


def hessian(
    data: Data,
    *,
    probes: int,
    batch_size: int,
    scored_positions: int | None,
    contexts_at_once: int | None,
    precise: int | None = None,
    precise_at: Collection[int] = (),
) -> Measurement:
    """Return a measure of the Hessian's trace, for the whole model and for every head's block.

    Each Rademacher probe has its own minibatch. At the steps ``precise_at`` there are ``precise`` probes;
    elsewhere their minibatches are the first of these. The arguments are those of
    ``rllc.measures.hessian.spec``.
    """
    count = most(probes, precise)
    batches = data.batches("hessian", count=count, batch_size=batch_size, scored=scored_positions)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        count = count_at(step, probes, precise, precise_at)
        return hessian_traces(
            model.loss,
            weights,
            First(batches, count),
            heads=head_masks(model),
            probes=count,
            seed=data.seed(step),
            contexts_at_once=contexts_at_once,
        )

    return measure


def head_masks(model: Model) -> dict[str, Masks]:
    """Return the masks of every head, by label."""
    every: dict[str, Masks] = {}
    for head in model.heads:
        masks = model.masks(head)
        assert masks is not None  # None would mean all weights; a head is never all of them
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
    """Estimate the trace of the Hessian, and of each head's diagonal block, by Hutchinson's method.

    By default one Hessian-vector product per probe gives the whole trace and all heads (measures/traces.py).
    ``masked=True`` adds one product per head and probe, on the head's coordinates alone. The mean is the
    same, and the noise is lower.

    loss       ``loss(weights, batch)``: mean loss of the batch, twice differentiable
    batches, heads, probes, seed
               as in ``traces.hutchinson``; so are the errors raised
    contexts_at_once
               split each ``Batch`` into parts of this many contexts and average their products, to bound
               memory. The result is equal up to rounding. None: no split

    Returns ``hessian_trace``, ``hessian_trace_se`` (no dims), ``hessian_trace_head``,
    ``hessian_trace_head_se`` (head), in nats/token, as weights have no unit.
    """

    def operator(batch: Any) -> Reading:
        if contexts_at_once is None:
            times = hessian_times(loss, weights, batch)
        else:
            times = _product_in_parts(loss, weights, batch.split(contexts_at_once))
        return of_form(form_of(times)) if masked else of_product(times)

    return hutchinson(operator, weights, batches, name="hessian_trace", heads=heads, probes=probes, seed=seed)


def hessian_times(
    loss: Callable[[dict[str, Tensor], Any], Tensor], weights: Weights, batch: Any
) -> Callable[[Weights], dict[str, Tensor]]:
    """Return the function v -> H v, where H is the Hessian of ``loss(., batch)`` at ``weights``.

    The gradient is computed once and its graph is kept. Each product is one backward pass through that graph
    (Pearlmutter 1994). v may name only some weights. It is 0 at the others, and H v is returned at the named
    weights only.
    """
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    gradient = torch.autograd.grad(
        loss(leaves, batch), list(leaves.values()), create_graph=True, materialize_grads=True
    )
    by_name = dict(zip(leaves, gradient, strict=True))

    def times(vector: Weights) -> dict[str, Tensor]:
        differentiable = [name for name in vector if by_name[name].requires_grad]
        if not differentiable:
            return {name: torch.zeros_like(v) for name, v in vector.items()}
        product = torch.autograd.grad(
            [by_name[name] for name in differentiable],
            [leaves[name] for name in vector],
            grad_outputs=[vector[name] for name in differentiable],
            retain_graph=True,
            materialize_grads=True,
        )
        return dict(zip(vector, product, strict=True))

    return times


def _product_in_parts(
    loss: Callable[[dict[str, Tensor], Any], Tensor], weights: Weights, parts: Sequence[Batch]
) -> Callable[[Weights], dict[str, Tensor]]:
    """Return v -> H v for a batch split into parts: the mean of their products, weighted by contexts.

    Each part's gradient graph is freed after each product and made again for the next one.
    """
    total = sum(len(part.contexts) for part in parts)

    def times(vector: Weights) -> dict[str, Tensor]:
        products = {name: torch.zeros_like(v) for name, v in vector.items()}
        for part in parts:
            share = len(part.contexts) / total
            for name, product in hessian_times(loss, weights, part)(vector).items():
                products[name].add_(product, alpha=share)
        return products

    return times
