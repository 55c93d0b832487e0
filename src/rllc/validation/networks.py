"""Run the estimator on reduced-rank regressions and deep linear networks with known learning coefficients.

Each network is sampled as a few replicas in one loss. Settings are those of ``rllc.study.validation``. The
results hold, per (model, n_beta), the estimate and its relative error against the coefficient. ``exact``, the
value at these settings, is NaN where it is not known. A model's label holds its number, widths and rank.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.seeds import derive, generator
from rllc.tasks.lazy import LazySequence
from rllc.validation import toys
from rllc.validation.replicated import replicated, table
from rllc.validation.truths.deep_linear import deep_linear as deep_linear_truth
from rllc.validation.truths.reduced_rank import mean_loss_at_zero

Shape = tuple[Sequence[int], int]  # widths, from inputs to outputs, and the rank of the true map


def reduced_rank(
    *, at_zero: Mapping[str, Any], models: int, widths: Sequence[int], seed: int, **setting: Any
) -> xr.Dataset:
    """Estimate reduced-rank regressions: small models around 0, with an exact integral, and random models.

    at_zero  ``sizes`` (inputs, outputs, hidden of each) of models with true rank 0, sampled around weights 0,
             and settings that replace those of ``setting`` for these models
    """
    own = {**setting, **at_zero}
    zero = [((inputs, hidden, outputs), 0) for inputs, outputs, hidden in own.pop("sizes")]
    drawn = architectures(models, (2, 2), widths, seed)
    rows = [*sampled(zero, seed=seed, **own), *sampled(drawn, seed=derive(seed, "random"), **setting)]
    return table(rows, along=("model", "n_beta"))


def deep_linear(
    *, models: int, layers: Sequence[int], widths: Sequence[int], seed: int, **setting: Any
) -> xr.Dataset:
    """Estimate deep linear networks of random shape and rank at a balanced point (arXiv 2402.03698, 4)."""
    rows = sampled(architectures(models, layers, widths, seed), seed=seed, **setting)
    return table(rows, along=("model", "n_beta"))


def sampled(
    shapes: Iterable[Shape],
    *,
    n_beta: Sequence[float],
    relative_step: float,
    batch_size: int | None,
    seed: int,
    localization: float | None = None,
    localization_per_width: float = 1.0,
    **setting: Any,
) -> Iterator[dict[str, Any]]:
    """Yield a row per network and n_beta, sampled around the network's balanced point.

    localization  None: ``localization_per_width`` times the mean width, to bound the norms of random matrices
    setting       ``replicas``, ``chains``, ``draws``, ``thinning`` and ``burn_in``
    """
    for number, (sizes, rank) in enumerate(shapes):
        pull = localization_per_width * float(np.mean(sizes)) if localization is None else localization
        singular = generator(seed, "singular values", number).uniform(0.5, 1.5, rank).tolist()
        center, target = toys.balanced(sizes, singular, seed=derive(seed, "bases", number))
        curvature = largest_curvature(sizes, singular, localization=pull)
        truth = deep_linear_truth(sizes, rank=rank)
        for beta in n_beta:
            step = relative_step / (beta * curvature + pull)
            moves = (setting["draws"] - 1) * setting["thinning"]
            stream = derive(seed, number, beta)
            estimate = replicated(
                toys.linear_network(target),
                center,
                n_beta=beta,
                localization=pull,
                step_size=step,
                batches=(0.0,) if batch_size is None else Inputs(moves + 1, batch_size, sizes[0], stream),
                seed=stream,
                **setting,
            )
            exact = float("nan")
            if not rank and min(sizes[:2]) <= 2:
                inputs, hidden, outputs = sizes
                law = {"n_beta": beta, "localization": pull, "scale": 0.5}
                exact = mean_loss_at_zero(inputs=inputs, outputs=outputs, hidden=hidden, **law)
            yield {
                "model": f"{number}: {'-'.join(map(str, sizes))}, rank {rank}{'' if rank else ', around 0'}",
                "n_beta": beta,
                **estimate,
                "exact": exact,
                "coefficient": float(truth.value),
                "multiplicity": truth.multiplicity,
                "localization": pull,
                "step_size": step,
                "moves": moves,
                "layers": len(center),
                "rank": rank,
                "parameters": sum(w.numel() for w in center.values()),
            }


def largest_curvature(sizes: Sequence[int], singular: Sequence[float], *, localization: float) -> float:
    """Return the largest Hessian eigenvalue at a balanced point: L s^(2 - 2/L), s the largest singular value.

    At rank 0 the Hessian is 0. For two layers, return instead the largest eigenvalue of A^T A and B^T B with
    entries of variance 1 / localization (Bai and Yin).
    """
    depth = len(sizes) - 1
    if len(singular):
        return depth * max(singular) ** (2 - 2 / depth)
    inputs, hidden, outputs = sizes
    return (np.sqrt(hidden) + np.sqrt(max(inputs, outputs))) ** 2 / localization


class Inputs(LazySequence[Tensor]):
    """Batches of standard normal inputs, one for every move, made on access."""

    def __init__(self, count: int, batch_size: int, inputs: int, seed: int) -> None:
        self.moves, self.shape, self.seed = count, (batch_size, inputs), seed

    def __len__(self) -> int:
        return self.moves

    def item(self, index: int) -> Tensor:
        if not 0 <= index < len(self):
            raise IndexError(index)
        random = torch.Generator().manual_seed(derive(self.seed, "inputs", index))
        return torch.randn(self.shape, generator=random, dtype=torch.float64)


def architectures(count: int, layers: Sequence[int], widths: Sequence[int], seed: int) -> list[Shape]:
    """Draw random widths and ranks: a log-uniform scale, then widths from half the scale to the scale."""
    random = generator(seed, "architectures")
    found = []
    for _ in range(count):
        scale = np.exp(random.uniform(np.log(widths[0]), np.log(widths[1])))
        low, high = max(widths[0], round(scale / 2)), max(widths[0], round(scale))
        depth = int(random.integers(layers[0], layers[1] + 1))
        sizes = tuple(random.integers(low, high + 1, depth + 1).tolist())
        found.append((sizes, int(random.integers(1, min(sizes) + 1))))
    return found
