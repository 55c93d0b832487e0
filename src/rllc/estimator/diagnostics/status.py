"""Determine the status of each chain: ok, nonfinite, diverged or missing."""

import numpy as np

from rllc.vocabulary import STATUS

OK, NONFINITE, DIVERGED, MISSING = range(len(STATUS))


def chain_status(
    loss: np.ndarray, rise: np.ndarray, *, scale: np.ndarray | float, divergence_factor: float
) -> np.ndarray:
    """Return the status of each chain, an index into ``vocabulary.STATUS``: int8 [...].

    nonfinite  some draw's loss is NaN or infinite
    diverged   the mean rise over the last quarter of the draws is above ``divergence_factor * scale`` and
               more than 5 % above that of the quarter before: far away, and still moving

    loss, rise  [..., draw]: minibatch losses, and their difference to the same minibatch's loss at the centre
    scale       [...] or a number: the scale of a large loss, nats/token
    """
    draws = rise.shape[-1]
    quarter = max(draws // 4, 1)
    with np.errstate(invalid="ignore"):
        end = rise[..., -quarter:].mean(-1)
        before = rise[..., -2 * quarter : -quarter].mean(-1) if draws > 1 else np.full_like(end, np.inf)
        away = (end > divergence_factor * np.asarray(scale)) & (end > 1.05 * before)
    finite = np.isfinite(loss).all(-1)
    return np.where(finite, np.where(away, DIVERGED, OK), NONFINITE).astype(np.int8)
