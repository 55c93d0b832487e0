"""What a few products with a symmetric operator say of its spectrum: Lanczos iteration as a quadrature.

A start vector v sees of an operator A with eigenpairs (lambda_i, q_i) the measure

    mu = sum_i (q_i . v)^2 delta(lambda_i),    v . f(A) v = integral of f over mu

and m steps of the iteration give its Gauss quadrature: m nodes (Ritz values) and masses, exact for every
polynomial f of degree up to 2 m - 1 (Golub and Meurant 2010). Over probes of independent signs
the mean of v . f(A) v is tr f(A).
"""

from typing import NamedTuple

import numpy as np
import torch

from rllc.measures.traces import Product
from rllc.models.weights import Weights


class Quadrature(NamedTuple):
    """The quadrature of a measure, from m steps or fewer.

    nodes      Ritz values, ascending, all within the spectrum: [m]
    masses     their sum is |v|^2: [m]
    residuals  |A y - theta y| of each node theta and its unit Ritz vector y: an eigenvalue is so near: [m]
    complete   the iteration came to an end, so that nodes and masses are the measure itself
    """

    nodes: np.ndarray
    masses: np.ndarray
    residuals: np.ndarray
    complete: bool


class Count(NamedTuple):
    """How much of a measure lies above a threshold: as the quadrature has it, at least and at most."""

    count: float  # pyright: ignore[reportIncompatibleMethodOverride]  # hides tuple.count, which nobody calls
    low: float
    high: float


def lanczos(times: Product, start: Weights, *, steps: int) -> Quadrature:
    """The quadrature of ``start`` after ``steps`` products, fewer where it is complete before.

    Every new vector is orthogonalised twice against all before it ("twice is enough", Parlett 1998): without
    that, copies of eigenvalues come up among the nodes. Vectors have the precision of ``start``, which is
    memory of steps x weights; what is read off them is float64.

    Raises ValueError for no steps or more than weights, a start of zeros, and products that are not finite.
    """
    names, sizes = list(start), [v.numel() for v in start.values()]
    vector = torch.cat([start[name].flatten() for name in names])
    square = _dot(vector, vector)
    if not 1 <= steps <= vector.numel():
        raise ValueError(f"{steps} Lanczos steps of {vector.numel()} weights: expected 1 to as many as these")
    if not square > 0:
        raise ValueError("a Lanczos iteration cannot start at a vector of zeros")

    def product(v: torch.Tensor) -> torch.Tensor:
        parts = zip(names, v.split(sizes), strict=True)
        moved = times({name: part.view(start[name].shape) for name, part in parts})
        return torch.cat([moved[name].flatten() for name in names])

    basis = vector.new_empty(steps, vector.numel())
    diagonal, beside, complete = [], [], steps == vector.numel()
    vector = vector / square**0.5
    for step in range(steps):
        basis[step] = vector
        before, vector = basis[: step + 1], product(vector)
        diagonal.append(_dot(basis[step], vector))
        for _ in range(2):
            vector = vector - before.T @ (before @ vector)
        beside.append(_dot(vector, vector) ** 0.5)
        if not np.isfinite([diagonal[-1], beside[-1]]).all():
            raise ValueError(f"product {step + 1} with the operator is not finite")
        if beside[-1] <= 4 * torch.finfo(vector.dtype).eps * max(map(abs, (*diagonal, *beside))):
            complete = True
            break
        vector = vector / beside[-1]
    tridiagonal = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    nodes, vectors = np.linalg.eigh(tridiagonal)
    last = 0.0 if complete else beside[-1]
    return Quadrature(nodes, square * vectors[0] ** 2, last * np.abs(vectors[-1]), complete)


def above(quadrature: Quadrature, threshold: float) -> Count:
    """The measure of (threshold, inf), with the bounds of Chebyshev, Markov and Stieltjes.

    With theta_i <= threshold < theta_(i+1) it is at least the masses beyond theta_(i+1) and at most those
    from theta_i on, whatever the measure is between nodes; of a complete quadrature it is known.
    """
    below, masses = int(np.searchsorted(quadrature.nodes, threshold, side="right")), quadrature.masses
    count = float(masses[below:].sum())
    if quadrature.complete:
        return Count(count, count, count)
    return Count(count, float(masses[below + 1 :].sum()), float(masses[max(below - 1, 0) :].sum()))


def converged(quadrature: Quadrature, threshold: float, *, tolerance: float) -> int:
    """Nodes above the threshold that are within ``tolerance`` x threshold of an eigenvalue.

    At least so many eigenvalues are above (1 - tolerance) x threshold, whatever the probe was.
    """
    sure = (quadrature.nodes > threshold) & (quadrature.residuals < tolerance * threshold)
    return int(sure.sum())


def step_coefficients(
    bounds: tuple[float, float], threshold: float, degree: int, *, damped: bool = False
) -> np.ndarray:
    """Chebyshev coefficients g_0 .. g_degree of the step 1[lambda > threshold] on ``bounds``: [degree + 1].

    With lambda = (hi + lo)/2 + x (hi - lo)/2 and theta = arccos of the threshold's x (Di Napoli, Polizzi and
    Saad 2016)::

        p(lambda) = sum_k g_k T_k(x),    g_0 = theta / pi,    g_k = 2 sin(k theta) / (k pi)

    damped  by Jackson's factors, which take away the ripples for a less steep step

    Raises ValueError where the threshold is not between the bounds.
    """
    low, high = bounds
    if not low < threshold < high:
        raise ValueError(f"threshold {threshold:g} is not between the bounds {low:g} and {high:g}")
    theta = np.arccos((2 * threshold - low - high) / (high - low))
    k = np.arange(1, degree + 1)
    coefficients = np.concatenate([[theta / np.pi], 2 * np.sin(k * theta) / (k * np.pi)])
    if not damped:
        return coefficients
    order, a = np.arange(degree + 1), np.pi / (degree + 2)
    falling = (1 - order / (degree + 2)) * np.sin(a) * np.cos(order * a)
    return coefficients * (falling + np.cos(a) * np.sin(order * a) / (degree + 2)) / np.sin(a)


def polynomial(coefficients: np.ndarray, bounds: tuple[float, float], values: np.ndarray) -> np.ndarray:
    """p at ``values``; NaN beyond the bounds, where it is no approximation of a step."""
    low, high = bounds
    x = (2 * np.asarray(values, dtype=float) - low - high) / (high - low)
    return np.where(np.abs(x) <= 1, np.polynomial.chebyshev.chebval(x, coefficients), np.nan)


def _dot(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a.double() @ b.double()).item())
