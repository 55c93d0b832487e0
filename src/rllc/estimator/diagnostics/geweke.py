"""Geweke's test: compare the means of the start and the end of a chain."""

import math

import numpy as np

from rllc.estimator.diagnostics.spectrum import spectrum_at_zero

FIRST, LAST = 0.1, 0.5
LEAST_DRAWS = 82  # with fewer, the first window has fewer than 10: too few to fit a spectral density


def geweke(trace: np.ndarray) -> np.ndarray:
    """Return the z score of each chain: [..., draw] -> [...] (Geweke 1992; windows of arXiv 2410.02984).

    With the means m and lengths n of the first 10 % and the last 50 % of the draws, and the spectral
    density S of each at frequency 0::

        z = (m_first - m_last) / sqrt(S_first / n_first + S_last / n_last)

    Standard normal if the chain is stationary and long. The windows are those of ``geweke.diag`` of the
    package coda: of N draws the first ceil(0.1 (N - 1)) + 1 and the last N - floor(N - 0.5 (N - 1)) + 1.
    NaN where the first window has fewer than 10 draws (N < 82) or the chain is constant or not finite.
    """
    draws = trace.shape[-1]
    if draws < LEAST_DRAWS:
        return np.full(trace.shape[:-1], np.nan)
    start = trace[..., : math.ceil(round(FIRST * (draws - 1), 9)) + 1]
    end = trace[..., math.floor(round(draws - LAST * (draws - 1), 9)) - 1 :]
    variance = sum(spectrum_at_zero(part) / part.shape[-1] for part in (start, end))
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (start.mean(-1) - end.mean(-1)) / np.sqrt(variance)
    return np.where(np.isfinite(z), z, np.nan)
