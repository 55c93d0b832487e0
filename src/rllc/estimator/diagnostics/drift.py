"""How much a trace still moves after burn-in."""

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
    if not trace.shape[0] or not half:
        return float("nan"), float("nan")
    halves = trace[:, :half], trace[:, -half:]
    moved = float(halves[1].mean() - halves[0].mean())
    if half < 4:
        return moved, float("nan")
    error = sum(part.var(ddof=1) / ess(part) for part in halves)
    centered = np.concatenate([part - part.mean(1, keepdims=True) for part in halves], axis=1)
    alone = centered.var(1).mean()
    shared = max(1.0, len(centered) * centered.mean(0).var() / alone) if alone > 0 else 1.0
    return moved, float(np.sqrt(shared * error))
