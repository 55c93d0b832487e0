"""Exact stochastic gradient Langevin dynamics on a quadratic well, as reference for the estimate.

Loss 1/2 sum_i h_i w_i^2 around w* = 0, chains started there. Each coordinate is an autoregression::

    w_{t+1} = a w_t + noise,   a = 1 - step_size p / 2,   p = n_beta h + localization
    variance of the noise: d = step_size + (step_size n_beta s / 2)^2

where s^2 is the variance of an additive error of the minibatch gradient, per coordinate and independent over
draws. Hence v_t = Var(w_t) = d (1 - a^2t) / (1 - a^2), and v_t -> d / (step_size p (1 - step_size p / 4)),
where step_size p < 4. A non-diagonal Hessian gives the same distribution along its eigenvectors, since
the noise and the localization are isotropic. A masked well has the Hessian of the selected block
(``spectrum``).
"""

from typing import Any

import numpy as np


def spectrum(hessian: np.ndarray, selected: np.ndarray | None = None) -> np.ndarray:
    """Return the eigenvalues of the block of ``hessian`` [n, n] at ``selected`` (boolean [n])."""
    block = hessian if selected is None else hessian[np.ix_(selected, selected)]
    return np.linalg.eigvalsh(block)


def posterior(curvature: np.ndarray, *, n_beta: float, localization: float) -> float:
    """Return n_beta E[loss] under exp(-n_beta loss - localization/2 |w|^2): 1/2 sum_i n_beta h_i / p_i.

    curvature  h_i, positive or zero
    """
    h = curvatures(curvature, n_beta, localization)
    return float(0.5 * (n_beta * h / (n_beta * h + localization)).sum())


def transient(curvature: np.ndarray, *, burn_in: int = 0, **chain: Any) -> float:
    """Return n_beta times the mean loss of the draws burn_in, ..., draws - 1 of a chain from w*.

    chain  arguments of ``variances``
    """
    h, variance, _ = variances(curvature, **chain)
    return float(0.5 * chain["n_beta"] * (h * variance[burn_in:].mean(0)).sum())


def variances(
    curvature: np.ndarray,
    *,
    n_beta: float,
    localization: float,
    step_size: float,
    draws: int,
    thinning: int = 1,
    gradient_noise: float = 0.0,
    gradient: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return curvatures h [n], variances of every draw [draw, n] and the coefficients a [n].

    thinning        moves from one draw to the next
    gradient_noise  s
    gradient        False: the control, with only the localization in its moves (p = localization)
    """
    h = curvatures(curvature, n_beta, localization)
    p = n_beta * h * gradient + localization
    a = 1 - step_size * p / 2
    diffusion = step_size + (gradient * step_size * n_beta * gradient_noise / 2) ** 2
    t = thinning * np.arange(draws)[:, None]
    gap = 1 - a**2
    # where p = 0 the coordinate is a random walk, with a variance that grows with t
    growth = np.where(gap == 0, t, (1 - a ** (2 * t)) / np.where(gap == 0, 1.0, gap))
    return h, diffusion * growth, a


def curvatures(curvature: np.ndarray, n_beta: float, localization: float) -> np.ndarray:
    """Return h as an array. Raises ValueError where h, n_beta or localization is out of range."""
    h = np.asarray(curvature, dtype=np.float64)
    if h.ndim != 1 or not h.size or (h < 0).any() or not np.isfinite(h).all():
        raise ValueError(f"curvature must be a vector of finite numbers >= 0, got {curvature!r}")
    if not n_beta > 0 or localization < 0:
        raise ValueError(f"expected n_beta > 0 and localization >= 0, got {n_beta} and {localization}")
    return h
