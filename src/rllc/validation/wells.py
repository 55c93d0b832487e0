"""Run the estimator on quadratic wells and toy potentials with exact values at finite settings.

Settings are those of ``rllc.study.validation``.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
import xarray as xr

from rllc.seeds import derive, generator
from rllc.validation import toys
from rllc.validation.replicated import WHOLE, replicated, table
from rllc.validation.truths import quadratic as truths
from rllc.validation.truths.potentials import POTENTIALS


def quadratic(
    *,
    dimensions: Sequence[int],
    condition: float,
    n_beta: Sequence[float],
    localization: Sequence[float],
    relative_step: float,
    burn_in: int,
    seed: int,
    **chains: Any,
) -> xr.Dataset:
    """Estimate quadratic wells, full and with half of the coordinates frozen, with and without burn-in.

    The Hessian of dimension n has eigenvalues from 1 / ``condition`` to 1, geometrically spaced, along random
    axes. The masked well selects every second coordinate. ``exact`` is the expected result of the discretised
    chain over the kept draws (``rllc.validation.truths.quadratic.transient``).

    Returns (dimension, component, n_beta, localization, burn_in).
    """
    rows = []
    for size in dimensions:
        axes = np.linalg.qr(generator(derive(seed, "hessian", size)).normal(size=(size, size)))[0]
        hessian = (axes * np.geomspace(1.0, 1.0 / condition, size)) @ axes.T
        for component in (WHOLE, "masked"):
            mask = None if component == WHOLE else np.arange(size) % 2 == 0
            h = truths.spectrum(hessian, mask)
            for beta, pull, kept in product(n_beta, localization, sorted({0, burn_in})):
                law = {"n_beta": beta, "localization": pull}
                chain = {"step_size": relative_step / (beta * h.max() + pull), "burn_in": kept}
                estimate = replicated(
                    toys.quadratic(torch.from_numpy(hessian)),
                    {"w": torch.zeros(size, dtype=torch.float64)},
                    masks=None if mask is None else {"w": torch.from_numpy(mask)},
                    seed=derive(seed, size, component, beta, pull),
                    **law,
                    **chain,
                    **chains,
                )
                truth = {
                    "exact": truths.transient(h, **law, **chain, draws=chains["draws"]),
                    "posterior": truths.posterior(h, **law),
                    "coefficient": len(h) / 2,
                    "step_size": chain["step_size"],
                    "parameters": len(h),
                }
                at = {"dimension": size, "component": component, **law, "burn_in": kept}
                rows.append(at | estimate | truth)
    return table(rows, along=("dimension", "component", "n_beta", "localization", "burn_in"))


def potentials(
    *,
    names: Sequence[str],
    n_beta: Sequence[float],
    localization: Sequence[float],
    relative_step: float,
    relaxations: float,
    max_moves: int,
    draws: int,
    seed: int,
    **chains: Any,
) -> xr.Dataset:
    """Estimate toy potentials and normal crossings; ``exact`` is n_beta E[loss] at these settings.

    ``exact`` comes from quadrature. The discretisation error is of order relative_step / 4. A direction with
    flat loss forgets the centre in 2 / (step_size localization) moves. Where ``max_moves`` limits the chain,
    it is not in equilibrium.

    Returns (potential, n_beta, localization); ``multiplicity`` and ``coefficient`` (potential).
    """
    rows = []
    for name, beta, pull in product(names, n_beta, localization):
        model, law = POTENTIALS[name], {"n_beta": beta, "localization": pull}
        step = relative_step / (beta * model.curvature(**law) + pull)
        moves = min(relaxations * 2 / (step * pull), max_moves)
        thinning = max(1, round(moves / draws))
        estimate = replicated(
            toys.potential(model.value),
            {"w": torch.tensor(model.center, dtype=torch.float64)},
            draws=draws,
            thinning=thinning,
            step_size=step,
            seed=derive(seed, name, beta, pull),
            **law,
            **chains,
        )
        truth = {
            "exact": model.mean_loss(**law),
            "coefficient": float(model.coefficient.value),
            "multiplicity": model.coefficient.multiplicity,
            "step_size": step,
            "moves": thinning * (draws - 1),
            "parameters": len(model.center),
        }
        rows.append({"potential": name, **law} | estimate | truth)
    dataset = table(rows, along=("potential", "n_beta", "localization"))
    labels = [POTENTIALS[str(name)].label for name in dataset["potential"].values]
    return dataset.assign_coords(label=("potential", np.asarray(labels, dtype=object)))
