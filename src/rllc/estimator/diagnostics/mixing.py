"""Measure how well chains mixed: R-hat, and the effective sample size of their mean.

Both follow Vehtari et al. (2021, arXiv 1903.08008), computed by ArviZ.
"""

import numpy as np
from arviz_stats.base.array import array_stats
from scipy.special import fdtri

LEAST_DRAWS = 4  # of a chain: autocorrelations and split halves need at least two each


def rhat(trace: np.ndarray) -> float:
    """Return the rank-normalised split R-hat, the larger of bulk and tail; trace [chain, draw].

    NaN with fewer than two chains or four draws, or where all values are equal.
    """
    if trace.shape[0] < 2 or trace.shape[1] < LEAST_DRAWS or np.ptp(trace) == 0:
        return float("nan")
    with np.errstate(divide="ignore", invalid="ignore"):  # all halves are constant
        return np.asarray(
            array_stats.rhat(trace.astype(float), chain_axis=0, draw_axis=1, method="rank")
        ).item()


def rhat_by_chance(chains: np.ndarray | int, draws: int, *, share: float) -> np.ndarray:
    """Return the R-hat that a ``share`` of traces of ``chains`` times ``draws`` independent normals exceed.

    With m = 2 chains halves of n = draws // 2, the ratio of the variances between and within them has the
    distribution F(m - 1, m (n - 1)), and R-hat^2 = (n - 1)/n + F/n. The larger of bulk and tail exceeds a
    limit at most as often as both together (Bonferroni).
    """
    halves, length = 2 * np.asarray(chains, dtype=float), draws // 2
    ratio = fdtri(halves - 1, halves * (length - 1), 1 - share / 2)
    return np.sqrt((length - 1 + ratio) / length)


def ess(trace: np.ndarray) -> float:
    """Return the effective sample size of the mean over all chains and draws; trace [chain, draw].

    From the autocorrelations of the split chains by Geyer's initial monotone sequence. NaN with fewer than
    four draws; the number of values where all are equal.
    """
    if trace.shape[0] < 1 or trace.shape[1] < LEAST_DRAWS:
        return float("nan")
    return np.asarray(array_stats.ess(trace.astype(float), chain_axis=0, draw_axis=1, method="mean")).item()
