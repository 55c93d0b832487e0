"""Traces of a linear operator on weights, and of its blocks, by Hutchinson's estimator.

With probes v of independent signs (Hutchinson 1990; arXiv 2410.02984, App. D.1)::

    tr A ~ mean of v . A v,    tr A_hh ~ mean of v_h . (A v)_h,  or of v_h . A v_h

unbiased, since E[v_i v_j] = 0 for i != j. The first form of a block costs nothing beside the whole. The
second probes the block's coordinates alone, without the noise of A between them and the rest, for one more
value of the quadratic form per block and probe; an operator of which only v . A v is computed has it alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.models.weights import Masks, Weights, check_masks
from rllc.seeds import derive
from rllc.vocabulary import head_coords

Product = Callable[[Weights], Weights]  # v -> A v, at the weights that v names
Form = Callable[[Weights], float]  # v -> v . A v
Reading = Callable[
    [Weights, Iterable[Masks]], tuple[float, list[float]]
]  # probe, blocks -> whole, each block


def of_product(times: Product) -> Reading:
    """Whole and blocks from one product."""

    def reading(probe: Weights, blocks: Iterable[Masks]) -> tuple[float, list[float]]:
        terms = _times(probe, times(probe))
        return _sum(terms), [_sum(_times(masks, terms)) for masks in blocks]

    return reading


def of_form(form: Form) -> Reading:
    """Whole and blocks from a value of the quadratic form each."""

    def reading(probe: Weights, blocks: Iterable[Masks]) -> tuple[float, list[float]]:
        return form(probe), [form(_times(masks, probe)) for masks in blocks]

    return reading


def form_of(times: Product) -> Form:
    """The quadratic form of a product."""
    return lambda vector: _sum(_times(vector, times(vector)))


def hutchinson(
    operator: Callable[[Any], Reading],
    weights: Weights,
    batches: Sequence[Any],
    *,
    name: str,
    heads: Mapping[str, Masks],
    probes: int,
    seed: int,
) -> xr.Dataset:
    """The trace of an operator that is a mean over minibatches, and of its block of every head.

    operator  of a batch: what is read off a probe (``of_product``, ``of_form``); asked for once per batch
    batches   probe i sees ``batches[i % len(batches)]``: the trace estimated is that of the mean over them if
              ``probes`` is a multiple of their number (with fewer, only the first ones are used)
    heads     boolean masks of each head by its label ``"layer:head"``, by weight name (may be empty); weights
              that are not named belong to no head
    probes    number of probe vectors
    seed      probe i of the signs is the stream (seed, "probe", i), whatever the other arguments

    Returns ``<name>``, ``<name>_se`` (no dims), ``<name>_head``, ``<name>_head_se`` (head), in units of the
    operator. Standard errors are sd / sqrt(probes) over probes, so they hold what differs between batches as
    far as batches differ between probes; NaN of one probe.

    Raises ValueError without probes or batches, or where a mask does not fit the weights.
    """
    if probes < 1 or not len(batches):
        raise ValueError(f"{probes} probes on {len(batches)} batches: at least one of each is needed")
    for label, masks in heads.items():
        check_masks(masks, weights, label)
    blocks = [{n: mask.to(weights[n].device) for n, mask in masks.items()} for masks in heads.values()]
    whole, each = np.empty(probes), np.empty((probes, len(blocks)))
    for index in range(min(probes, len(batches))):
        reading = operator(batches[index])
        for probe in range(index, probes, len(batches)):
            whole[probe], each[probe] = reading(signs(weights, derive(seed, "probe", probe)), blocks)
    return xr.Dataset(
        {
            name: whole.mean(),
            f"{name}_se": _standard_error(whole),
            f"{name}_head": ("head", each.mean(0)),
            f"{name}_head_se": ("head", _standard_error(each)),
        },
        coords=head_coords(list(heads)) if heads else {"head": np.empty(0, dtype=object)},
    )


def signs(weights: Weights, seed: int) -> dict[str, Tensor]:
    """A Rademacher probe: +1 or -1 for every weight, in sorted name order."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: (torch.randint(0, 2, weights[name].shape, generator=generator) * 2 - 1).to(weights[name])
        for name in sorted(weights)
    }


def _times(a: Weights, b: Weights) -> dict[str, Tensor]:
    """Products by coordinate, at the weights that ``a`` names."""
    return {name: value * b[name] for name, value in a.items()}


def _sum(terms: Weights) -> float:
    return sum(float(term.sum(dtype=torch.float64)) for term in terms.values())


def _standard_error(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the first axis; NaN where there is one value."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return values.std(0, ddof=1) / len(values) ** 0.5
