"""Measure how much a trace still moves: within the kept draws, and since chains of half the length."""

import numpy as np

from rllc.estimator.diagnostics.mixing import ess


def drift(trace: np.ndarray) -> tuple[float, float]:
    """Return the mean of the last half of the draws minus that of the first, and its standard error.

    trace is [chain, draw]. An odd middle draw is in neither half. The error combines the errors of the two
    halves, each sd / sqrt(ess) over all chains and draws of the half. It is widened by the variation that
    chains share, since a minibatch moves all chains alike::

        drift = mean(last) - mean(first)        drift_se^2 = shared * sum over halves of sd^2 / ess
        shared = max(1, chains * variance over draws of the mean chain / mean variance of a chain)

    NaN without chains or draws. The error is NaN with fewer than four draws in a half.
    """
    half = trace.shape[1] // 2
    return _moved(trace[:, :half], trace[:, trace.shape[1] - half :])


def half_length_change(trace: np.ndarray, *, burn_in: int) -> tuple[float, float]:
    """Return the mean's change since chains had half the length, and its standard error.

    trace is [chain, draw]. The change is the mean over the draws burn_in.. of T, minus the mean over
    burn_in/2.. of the first T/2, the result of a study with chains of half the length. Let it be a share u of
    the mean. With a burn-in of half, a trace that relaxes at one rate then lacks about (u / (1 - u))^2.
    Without burn-in, or for relaxation as 1/t, it lacks u. The error is that of ``drift`` (too large where the
    two means share draws), or the standard error over chains, if larger: minibatch noise hides slow movement
    from an ESS. NaN as in ``drift``, and where a value is not finite, burn-in included.
    """
    if not np.isfinite(trace).all():
        return float("nan"), float("nan")
    early, late = trace[:, burn_in // 2 : trace.shape[1] // 2], trace[:, burn_in:]
    moved, error = _moved(early, late)
    if len(trace) > 1 and early.size:
        apart = late.mean(1) - early.mean(1)
        error = float(np.maximum(error, apart.std(ddof=1) / np.sqrt(len(trace))))
    return moved, error


def _moved(early: np.ndarray, late: np.ndarray) -> tuple[float, float]:
    parts = early, late
    if not early.size or not late.size:
        return float("nan"), float("nan")
    moved = float(late.mean() - early.mean())
    if min(part.shape[1] for part in parts) < 4:
        return moved, float("nan")
    error = sum(part.var(ddof=1) / ess(part) for part in parts)
    centered = np.concatenate([part - part.mean(1, keepdims=True) for part in parts], axis=1)
    alone = centered.var(1).mean()
    shared = max(1.0, len(centered) * centered.mean(0).var() / alone) if alone > 0 else 1.0
    return moved, float(np.sqrt(shared * error))
