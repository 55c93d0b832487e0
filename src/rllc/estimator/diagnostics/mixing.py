"""How well chains mixed: R-hat, and the effective sample size of their mean.

Both are those of Vehtari et al. (2021, arXiv 1903.08008) as ArviZ computes them; the tests compare the two.
They are written out here because importing ArviZ takes two CPU seconds, in jobs that may take as little
themselves.
"""

import numpy as np
import torch
from scipy.special import fdtri


def rhat(trace: np.ndarray) -> float:
    """Rank-normalised split R-hat, the larger of bulk and tail; trace [chain, draw].

    NaN with fewer than two chains or four draws, or where all values are equal.
    """
    if trace.shape[0] < 2 or trace.shape[1] < 4:
        return float("nan")
    halves = split(trace)
    if np.ptp(halves) == 0:
        return float("nan")
    return max(_rhat(_normal_scores(halves)), _rhat(_normal_scores(np.abs(halves - np.median(halves)))))


def rhat_by_chance(chains: np.ndarray | int, draws: int, *, share: float) -> np.ndarray:
    """The R-hat that a ``share`` of traces of as many independent normal draws exceed.

    With m = 2 chains halves of n = draws // 2, the ratio of the variances between and within them has the
    distribution F(m - 1, m (n - 1)), and R-hat^2 = (n - 1)/n + F/n. The larger of bulk and tail exceeds a
    limit at most as often as both together (Bonferroni).
    """
    halves, length = 2 * np.asarray(chains, dtype=float), draws // 2
    ratio = fdtri(halves - 1, halves * (length - 1), 1 - share / 2)
    return np.sqrt((length - 1 + ratio) / length)


def ess(trace: np.ndarray) -> float:
    """Effective sample size of the mean over all chains and draws; trace [chain, draw].

    From the autocorrelations of the split chains by Geyer's initial monotone sequence. NaN with fewer than
    four draws; the number of values where all are equal.
    """
    if trace.shape[0] < 1 or trace.shape[1] < 4:
        return float("nan")
    halves = split(trace)
    total = halves.size
    if np.ptp(halves) < np.finfo(float).resolution:
        return float(total)
    chains, draws = halves.shape
    covariance = _autocovariance(halves).mean(0)  # [lag]
    within = covariance[0] * draws / (draws - 1)
    pooled = covariance[0] + (halves.mean(1).var(ddof=1) if chains > 1 else 0.0)
    correlation = 1 - (within - covariance) / pooled
    correlation[0] = 1.0
    return total / max(_integrated_time(correlation), 1 / np.log10(total))


def split(trace: np.ndarray) -> np.ndarray:
    """Each chain cut in two halves: [chain, draw] -> [2 chain, draw // 2] (an odd middle draw is dropped)."""
    half = trace.shape[1] // 2
    return np.concatenate([trace[:, :half], trace[:, -half:]]).astype(float)


def _integrated_time(correlation: np.ndarray) -> float:
    """1 + 2 * sum of the autocorrelations [lag] up to where pairs of them turn negative, made monotone."""
    last = len(correlation) - 1
    kept = [correlation[0], correlation[1]]
    even, odd, lag = correlation[0], correlation[1], 1
    while lag < last - 2 and even + odd > 0:
        even, odd = correlation[lag + 1], correlation[lag + 2]
        kept += [even, odd] if even + odd >= 0 else [0.0, 0.0]
        lag += 2
    end = lag - 2
    kept += [0.0, 0.0]
    if even > 0:
        kept[end + 1] = even
    for i in range(1, end - 1, 2):
        if kept[i + 1] + kept[i + 2] > kept[i - 1] + kept[i]:
            kept[i + 1] = kept[i + 2] = (kept[i - 1] + kept[i]) / 2
    return -1 + 2 * sum(kept[: end + 1]) + sum(kept[end + 1 : end + 2])


def _autocovariance(series: np.ndarray) -> np.ndarray:
    """Autocovariance at every lag, divided by the length: [chain, draw] -> [chain, lag]."""
    length = series.shape[1]
    spectrum = np.fft.rfft(series - series.mean(1, keepdims=True), n=2 * length, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, n=2 * length, axis=1)[:, :length] / length


def _rhat(chains: np.ndarray) -> float:
    draws = chains.shape[1]
    between = draws * chains.mean(1).var(ddof=1)
    within = chains.var(axis=1, ddof=1).mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt((between / within + draws - 1) / draws))


def _normal_scores(values: np.ndarray) -> np.ndarray:
    """Normal quantiles of the values' ranks (ties share the mean rank; Blom's offset 3/8)."""
    _, inverse, counts = np.unique(values.reshape(-1), return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[inverse].reshape(values.shape)
    return torch.special.ndtri(torch.from_numpy((rank - 0.375) / (values.size + 0.25))).numpy()
