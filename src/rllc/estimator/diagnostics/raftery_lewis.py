"""Raftery and Lewis' run length: the number of draws needed to estimate a quantile of a chain."""

import numpy as np

Q, R, S, PRECISION = 0.025, 0.01, 0.95, 0.01
LEAST_DRAWS = 937  # the number of independent draws needed with these


def raftery_lewis(trace: np.ndarray) -> np.ndarray:
    """Return the dependence factor of each chain, [..., draw] -> [...] (Raftery and Lewis 1992).

    The factor is the number of draws needed for the q-quantile to within r with probability s, divided by the
    number of independent draws needed. Z = (draw <= its q-quantile) is thinned until BIC prefers a
    first-order Markov chain to a second-order one. With its transition probabilities alpha (0 -> 1) and
    beta (1 -> 0), phi the normal quantile of (1 + s) / 2, and k the thinning::

        burn_in  = k ceil( log(precision (alpha + beta) / max(alpha, beta)) / log|1 - alpha - beta| )
        total    = burn_in + k ceil( (2 - alpha - beta) alpha beta phi^2 / ((alpha + beta)^3 r^2) )
        shortest = ceil( q (1 - q) phi^2 / r^2 ), for independent draws
        factor   = total / shortest; above 5: strong dependence

    As ``raftery.diag`` of the package coda. NaN where the chain is shorter than ``shortest`` (937 draws with
    these settings, so also at the 200 draws of arXiv 2410.02984), is not finite, or where the two-state
    chain never leaves a state or always leaves it.
    """
    from scipy.special import ndtri

    phi = float(ndtri((1 + S) / 2))
    shortest = int(np.ceil(Q * (1 - Q) * phi**2 / R**2))
    total = np.full(trace.shape[:-1], np.nan)
    for index in np.ndindex(total.shape if trace.shape[-1] >= shortest else (0,)):
        if np.isfinite(trace[index]).all():
            below = (trace[index] <= np.quantile(trace[index], Q)).astype(np.int64)
            *_, total[index] = _run_length(below, phi=phi, r=R, precision=PRECISION)
    return total / shortest


def _run_length(below: np.ndarray, *, phi: float, r: float, precision: float) -> tuple[float, float, float]:
    """Return thinning, burn-in and total for a series of 0 and 1; NaN where they are undefined."""
    nothing = (float("nan"), float("nan"), float("nan"))
    for thin in range(1, len(below) // 3 + 1):
        state = below[::thin]
        if second_order_bic(state) < 0:
            break
    else:
        return nothing
    (stayed, rose), (fell, held) = np.bincount(2 * state[:-1] + state[1:], minlength=4).reshape(2, 2)
    if not (rose and fell) or not (stayed or held):
        return nothing
    alpha, beta = rose / (stayed + rose), fell / (fell + held)
    kept = (2 - alpha - beta) * alpha * beta * phi**2 / ((alpha + beta) ** 3 * r**2)
    with np.errstate(divide="ignore"):
        lost = np.log(precision * (alpha + beta) / max(alpha, beta)) / np.log(abs(1 - alpha - beta))
    burn_in = thin * np.ceil(lost)
    return float(thin), float(burn_in), float(burn_in + thin * np.ceil(kept))


def second_order_bic(state: np.ndarray) -> float:
    """Return G^2 of a second-order against a first-order chain of 0 and 1, minus 2 log(number of triples).

    G^2 = 2 sum n_ijk log(n_ijk n_.j. / (n_ij. n_.jk)). Negative: first order is enough.
    """
    triples = np.bincount(4 * state[:-2] + 2 * state[1:-1] + state[2:], minlength=8).reshape(2, 2, 2)
    fitted = triples.sum(2, keepdims=True) * triples.sum(0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = triples * np.log(triples * triples.sum((0, 2), keepdims=True) / fitted)
    return float(2 * np.where(triples > 0, terms, 0.0).sum() - 2 * np.log(len(state) - 2))
