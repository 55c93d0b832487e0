"""The estimator on reduced-rank regressions and deep linear networks, whose learning coefficients are known.

Each network is sampled as a few replicas in one loss.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.seeds import derive, generator
from rllc.validation import toys
from rllc.validation.replicated import Table, replicated
from rllc.validation.truths.coefficient import Coefficient
from rllc.validation.truths.deep_linear import deep_linear as deep_linear_truth
from rllc.validation.truths.reduced_rank import mean_loss_at_zero
from rllc.validation.truths.reduced_rank import reduced_rank as reduced_rank_truth


def reduced_rank(
    *, at_zero: Mapping[str, Any], models: int, widths: Sequence[int], seed: int, **setting: Any
) -> xr.Dataset:
    """Reduced-rank regression: small models around 0, where the exact value is an integral, and random ones.

    at_zero  ``sizes`` (inputs, outputs, hidden of each) of models with true rank 0, sampled around weights 0
             with a ``localization``, ``n_beta`` and ``replicas`` of their own
    models   how many models with random dimensions and a random rank above 0, at a balanced point
    widths   smallest and largest dimension (log-uniform)
    setting  as ``deep_linear``

    Returns (model, n_beta) as ``deep_linear``; the relative error is against the coefficient, also where
    ``exact``, the value at these settings, is known.
    """
    table = Table()
    shared = {name: value for name, value in setting.items() if name != "localization_per_width"}
    for number, (inputs, outputs, hidden) in enumerate(at_zero["sizes"]):
        truth = reduced_rank_truth(inputs=inputs, outputs=outputs, hidden=hidden, rank=0)
        own = shared | {name: at_zero[name] for name in ("localization", "n_beta", "replicas")}
        sample_network(table, number, (inputs, hidden, outputs), 0, truth=truth, seed=seed, **own)
    pull = setting["localization_per_width"]
    for number, (sizes, rank) in enumerate(architectures(models, (2, 2), widths, seed)):
        inputs, hidden, outputs = sizes
        truth = reduced_rank_truth(inputs=inputs, outputs=outputs, hidden=hidden, rank=rank)
        own = shared | {"localization": pull * float(np.mean(sizes))}
        sample_network(table, number, sizes, rank, truth=truth, seed=derive(seed, "random"), **own)
    return table.dataset()


def deep_linear(
    *,
    models: int,
    layers: Sequence[int],
    widths: Sequence[int],
    localization_per_width: float,
    seed: int,
    **setting: Any,
) -> xr.Dataset:
    """Deep linear networks of random depth, widths and rank at a balanced point (arXiv 2402.03698, sec. 4).

    models, layers, widths  how many; smallest and largest number of layers and width (log-uniform)
    n_beta         a list
    localization_per_width  localization over the mean width: what keeps the norms of random matrices bounded
    relative_step  step_size times (n_beta h + localization), h the largest curvature at the centre
                   (around 0: the largest eigenvalue of the typical A^T A under the localization)
    batch_size     random inputs of a minibatch, new at every move; None: the expected loss itself
    replicas, chains, draws, thinning, burn_in

    Returns (model, n_beta): ``llc``, ``coefficient``, ``multiplicity``, ``exact`` (NaN: not known),
    ``relative_error`` against the coefficient, ``parameters``, ``layers``, ``rank``. A model's label
    says its number, widths and rank.
    """
    table = Table()
    for number, (sizes, rank) in enumerate(architectures(models, layers, widths, seed)):
        truth = deep_linear_truth(sizes, rank=rank)
        own = setting | {"localization": localization_per_width * float(np.mean(sizes))}
        sample_network(table, number, sizes, rank, truth=truth, seed=seed, **own)
    return table.dataset()


def sample_network(
    table: Table,
    number: int,
    sizes: Sequence[int],
    rank: int,
    *,
    truth: Coefficient,
    n_beta: Sequence[float],
    localization: float,
    relative_step: float,
    batch_size: int | None,
    seed: int,
    **setting: Any,
) -> None:
    """Add the rows of one network around its balanced point, one per n_beta (see ``deep_linear``)."""
    name = f"{number}: {'-'.join(map(str, sizes))}, rank {rank}{'' if rank else ', around 0'}"
    singular = generator(seed, "singular values", number).uniform(0.5, 1.5, rank).tolist()
    center, target = toys.balanced(sizes, singular, seed=derive(seed, "bases", number))
    depth = len(center)
    curvature = largest_curvature(sizes, singular, localization=localization)
    for beta in n_beta:
        step = relative_step / (beta * curvature + localization)
        moves = (setting["draws"] - 1) * setting["thinning"]
        stream = derive(seed, number, beta)
        found = replicated(
            toys.linear_network(target),
            center,
            n_beta=beta,
            localization=localization,
            step_size=step,
            batches=(0.0,) if batch_size is None else Inputs(moves + 1, batch_size, sizes[0], stream),
            seed=stream,
            **setting,
        )
        exact = float("nan")
        if not rank and min(sizes[:2]) <= 2:
            inputs, hidden, outputs = sizes
            law = {"n_beta": beta, "localization": localization, "scale": 0.5}
            exact = mean_loss_at_zero(inputs=inputs, outputs=outputs, hidden=hidden, **law)
        values = {
            "exact": exact,
            "coefficient": float(truth.value),
            "multiplicity": truth.multiplicity,
            "localization": localization,
            "step_size": step,
            "moves": moves,
            "layers": depth,
            "rank": rank,
            "parameters": sum(w.numel() for w in center.values()),
        }
        table.add({"model": name, "n_beta": beta}, found | values, truth="coefficient")


def largest_curvature(
    sizes: Sequence[int], singular_values: Sequence[float], *, localization: float
) -> float:
    """Largest eigenvalue of the Hessian at a balanced point: L s^(2 - 2/L), s the largest singular value.

    At rank 0 the Hessian is 0, and of two layers it is the largest eigenvalue of A^T A and of B^T B with
    entries of variance 1 / localization (Bai and Yin).
    """
    depth = len(sizes) - 1
    if len(singular_values):
        return depth * max(singular_values) ** (2 - 2 / depth)
    inputs, hidden, outputs = sizes
    return (np.sqrt(hidden) + np.sqrt(max(inputs, outputs))) ** 2 / localization


class Inputs:
    """Batches of standard normal inputs, one for every move, made when asked for."""

    def __init__(self, count: int, batch_size: int, inputs: int, seed: int) -> None:
        self.count, self.shape, self.seed = count, (batch_size, inputs), seed

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        random = torch.Generator().manual_seed(derive(self.seed, "inputs", index))
        return torch.randn(self.shape, generator=random, dtype=torch.float64)


def architectures(
    count: int, layers: Sequence[int], widths: Sequence[int], seed: int
) -> list[tuple[tuple[int, ...], int]]:
    """Random widths and ranks: a log-uniform scale, then widths between half of it and it."""
    random = generator(seed, "architectures")
    found = []
    for _ in range(count):
        scale = np.exp(random.uniform(np.log(widths[0]), np.log(widths[1])))
        low, high = max(widths[0], round(scale / 2)), max(widths[0], round(scale))
        depth = int(random.integers(layers[0], layers[1] + 1))
        sizes = tuple(random.integers(low, high + 1, depth + 1).tolist())
        found.append((sizes, int(random.integers(1, min(sizes) + 1))))
    return found
