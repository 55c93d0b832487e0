"""Compute n_beta E[loss] under a localized posterior by numerical integration, in one or two dimensions.

The posterior is proportional to exp(-n_beta loss(w) - localization/2 |w - w*|^2). At finite n_beta, n_beta
times its mean loss differs from the learning coefficient (it converges logarithmically slowly where the
multiplicity is above 1). So an exact sampler gives this value, not the coefficient. For a sum of losses in
different coordinates, the values add up.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

SPAN = 9.0  # widths of the localization to either side
# dimensions -> halvings of the panels towards each focus, and nodes per panel
RESOLUTION = {1: (40, 12), 2: (24, 8)}


class Posterior(NamedTuple):
    """Grid points (one broadcastable array per coordinate), probabilities and losses at them."""

    points: tuple[np.ndarray, ...]
    probability: np.ndarray
    loss: np.ndarray


def nodes(
    low: float, high: float, focus: Sequence[float], *, levels: int, order: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Legendre nodes and weights on [low, high], in panels that halve towards every focus."""
    edges = {low, high, *(point for point in focus if low <= point <= high)}
    for point in focus:
        for end in (low, high):
            edges |= {point + (end - point) / 2.0**k for k in range(1, levels)}
    edges = np.array(sorted(edge for edge in edges if low <= edge <= high))
    x, w = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (x + 1)).ravel(), (half * w).ravel()


def posterior(
    loss: Callable[..., Any],
    center: Sequence[float],
    *,
    n_beta: float,
    localization: float,
    ridges: Sequence[Sequence[float]] = (),
    resolution: tuple[int, int] | None = None,
) -> Posterior:
    """Return the posterior of ``loss(w1, w2, ...)`` localized at ``center``, on a grid.

    ridges      per coordinate, values besides the centre where the grid is refined
    resolution  levels and order of ``nodes``; default ``RESOLUTION``
    Raises ValueError for more than 2 dimensions, or without localization (the posterior may be improper).
    """
    if len(center) not in RESOLUTION:
        raise ValueError(f"{len(center)} dimensions: expected 1 or 2; add up the parts of a separable sum")
    if not (n_beta > 0 and localization > 0):
        raise ValueError(f"expected n_beta and localization > 0, got {n_beta} and {localization}")
    reach = SPAN / np.sqrt(localization)
    ridges = ridges or [()] * len(center)
    levels, order = resolution or RESOLUTION[len(center)]
    axes = [
        nodes(at - reach, at + reach, [at, *also], levels=levels, order=order)
        for at, also in zip(center, ridges, strict=True)
    ]
    points = tuple(np.meshgrid(*(x for x, _ in axes), indexing="ij", sparse=True))
    weights = np.meshgrid(*(w for _, w in axes), indexing="ij", sparse=True)
    value = loss(*points)
    # factor by factor, since the weights of panels close to a focus are tiny
    energy = n_beta * value + sum(
        localization / 2 * (x - at) ** 2 for x, at in zip(points, center, strict=True)
    )
    mass = np.exp(energy.min() - energy)
    for weight in weights:
        mass = mass * weight
    value = np.broadcast_to(value, mass.shape)
    return Posterior(points, mass / mass.sum(), value)


def mean_loss(loss: Callable[..., Any], center: Sequence[float], **law: Any) -> float:
    """Return n_beta (E[loss] - loss at the centre) under the localized posterior, as of an exact sampler.

    law  arguments of ``posterior``
    """
    grid = posterior(loss, center, **law)
    at_center = float(loss(*(np.float64(at) for at in center)))
    return float(law["n_beta"] * ((grid.probability * grid.loss).sum() - at_center))


def curvature_quantile(
    loss: Callable[..., Any], center: Sequence[float], *, share: float = 1e-3, **law: Any
) -> float:
    """Return the Hessian trace that only ``share`` of the posterior exceeds.

    It serves to choose a safe step size, since the sampler does not visit the largest curvature of the loss.
    Computed from second differences on a coarse grid.
    """
    grid = posterior(loss, center, **law, resolution=(10, 4))
    step = 1e-3 / np.sqrt(law["localization"])
    trace = np.zeros(())
    for axis in range(len(center)):
        up, down = (
            loss(*(x + sign * step * (i == axis) for i, x in enumerate(grid.points))) for sign in (1, -1)
        )
        trace = trace + (up + down - 2 * loss(*grid.points)) / step**2
    trace = np.broadcast_to(trace, grid.probability.shape).ravel()
    order = np.argsort(trace)
    below = np.cumsum(grid.probability.ravel()[order])
    return float(trace[order][min(np.searchsorted(below, 1 - share), trace.size - 1)])
