"""Trace of the Hessian of the loss, of the whole model and of every head, by Hutchinson's estimator."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.measures.data import Data, Measurement
from rllc.models.transformer import Weights
from rllc.seeds import derive
from rllc.vocabulary import describe, head_coords

VARIABLES = {
    "hessian_trace": ("trace of the Hessian of the loss", "nats/token"),
    "hessian_trace_se": ("standard error over probes of the Hessian trace", "nats/token"),
    "hessian_trace_head": ("trace of the head's block of the Hessian", "nats/token"),
    "hessian_trace_head_se": ("standard error over probes of the head's Hessian trace", "nats/token"),
}

Masks = Mapping[str, Tensor]


def hessian(data: Data, *, probes: int, batch_size: int, scored_positions: int | None) -> Measurement:
    """Traces of the whole Hessian and of every head's block, one Rademacher probe per minibatch."""
    batches = data.batches("hessian", count=probes, batch_size=batch_size, scored=scored_positions)

    def measure(weights, model, step):
        heads = {head: model.masks(head) for head in model.heads}
        return hessian_traces(model.loss, weights, batches, heads=heads, probes=probes, seed=data.seed(step))

    return measure


def hessian_traces(
    loss: Callable[[Weights, Any], Tensor],
    weights: Weights,
    batches: Sequence[Any],
    *,
    heads: Mapping[str, Masks],
    probes: int,
    seed: int,
    masked: bool = False,
) -> xr.Dataset:
    """Hutchinson estimates of the trace of the Hessian H and of its block H_hh for every head h.

    With probes v of independent signs (Hutchinson 1990; arXiv 2410.02984, App. D.1)::

        tr H ~ mean of v . H v,    tr H_hh ~ mean of v_h . (H v)_h

    both unbiased, since E[v_i v_j] = 0 for i != j: one Hessian-vector product serves the whole model and
    all heads. ``masked=True`` probes each head's coordinates alone, v_h . H v_h: the same mean without
    the noise of H between the head and the rest, for one more product per head and probe.

    loss     ``loss(weights, batch)``: mean loss of the batch, twice differentiable
    batches  probe i sees ``batches[i % len(batches)]``: the trace estimated is that of the mean loss over
             them if ``probes`` is a multiple of their number (with fewer, only the first ones are used)
    heads    boolean masks of each head by its label ``"layer:head"``, by weight name (may be empty);
             weights that are not named belong to no head
    probes   number of probe vectors
    seed     probe i of the signs is the stream (seed, "probe", i), whatever the other arguments

    Returns ``hessian_trace``, ``hessian_trace_se`` (no dims), ``hessian_trace_head``,
    ``hessian_trace_head_se`` (head), nats/token. Standard errors are sd / sqrt(probes) over probes, so
    they hold what differs between batches as far as batches differ between probes; NaN of one probe.

    Raises ValueError without probes or batches, or where a mask does not fit the weights.
    """
    if probes < 1 or not len(batches):
        raise ValueError(f"{probes} probes on {len(batches)} batches: at least one of each is needed")
    _check(heads, weights)
    heads = {
        label: {name: mask.to(weights[name].device) for name, mask in masks.items()}
        for label, masks in heads.items()
    }
    full = np.empty(probes)
    blocks = np.empty((probes, len(heads)))
    for index in range(min(probes, len(batches))):
        times = hessian_times(loss, weights, batches[index])
        for probe in range(index, probes, len(batches)):
            signs = _signs(weights, derive(seed, "probe", probe))
            curved = times(signs)
            terms = {name: sign * curved[name] for name, sign in signs.items()}
            full[probe] = sum(float(term.sum(dtype=torch.float64)) for term in terms.values())
            for place, masks in enumerate(heads.values()):
                if masked:
                    own = {name: signs[name] * mask for name, mask in masks.items()}
                    curved = times(own)
                    terms = {name: sign * curved[name] for name, sign in own.items()}
                blocks[probe, place] = _sum_inside(terms, masks)
    dataset = xr.Dataset(
        {
            "hessian_trace": full.mean(),
            "hessian_trace_se": _standard_error(full),
            "hessian_trace_head": ("head", blocks.mean(0)),
            "hessian_trace_head_se": ("head", _standard_error(blocks)),
        },
        coords=head_coords(list(heads)) if heads else {"head": np.empty(0, dtype=object)},
    )
    return describe(dataset, VARIABLES)


def hessian_times(
    loss: Callable[[Weights, Any], Tensor], weights: Weights, batch: Any
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


def _signs(weights: Weights, seed: int) -> dict[str, Tensor]:
    """A Rademacher probe: +1 or -1 for every weight, in sorted name order."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: (torch.randint(0, 2, weights[name].shape, generator=generator) * 2 - 1).to(weights[name])
        for name in sorted(weights)
    }


def _sum_inside(terms: Weights, masks: Masks) -> float:
    return sum(float((terms[name] * mask).sum(dtype=torch.float64)) for name, mask in masks.items())


def _standard_error(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the first axis; NaN where there is one value."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return values.std(0, ddof=1) / len(values) ** 0.5


def _check(heads: Mapping[str, Masks], weights: Weights) -> None:
    for label, masks in heads.items():
        for name, mask in masks.items():
            if name not in weights:
                raise ValueError(f"the mask of head {label} names {name!r}, which is not among the weights")
            if mask.dtype != torch.bool or mask.shape != weights[name].shape:
                raise ValueError(
                    f"the mask of head {label} on {name} is {mask.dtype} {tuple(mask.shape)}: "
                    f"expected torch.bool {tuple(weights[name].shape)}"
                )
