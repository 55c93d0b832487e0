"""How much a trace still moves: after burn-in, and from chains of half the length to these."""

import numpy as np

from rllc.estimator.diagnostics.mixing import ess


def drift(trace: np.ndarray) -> tuple[float, float]:
    """Mean of the last half of the draws less that of the first, and its standard error; [chain, draw].

    An odd middle draw is in neither half. The error adds those of the two halves, each sd / sqrt(ess) over
    all chains and draws of the half as for the mean itself, widened by what chains have in common, since a
    minibatch moves all of them alike::

        drift = mean(last) - mean(first)        drift_se^2 = shared * sum over halves of sd^2 / ess
        shared = max(1, chains * variance over draws of the mean chain / mean variance of a chain)

    NaN without chains or draws, the error with fewer than four draws in a half.
    """
    half = trace.shape[1] // 2
    return _moved(trace[:, :half], trace[:, trace.shape[1] - half :])


def growth(trace: np.ndarray, *, burn_in: int) -> tuple[float, float]:
    """What the mean gained since chains were half as long, and its standard error; trace [chain, draw].

    The mean over the draws burn_in.. of T, less that over burn_in/2.. of the first T/2: what a study with
    chains of half the length would have found. With it a share u of the mean, a trace that relaxes at one
    rate lacks about (u / (1 - u))^2 after a burn-in of half; without burn-in, or as 1/t, it lacks u. The
    error is that of ``drift`` (where the two share draws it is too large), or the standard error over chains,
    if larger: noise of minibatches hides from an ESS what moves slowly. NaN as there, and where a value is
    not finite, burn-in included.
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
