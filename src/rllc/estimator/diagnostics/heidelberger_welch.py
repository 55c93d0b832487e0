"""Heidelberger and Welch's test: the stationary part of a chain, and the accuracy of its mean."""

import math
from typing import NamedTuple

import numpy as np

from rllc.estimator.diagnostics.spectrum import spectrum_at_zero

ALPHA = 0.05
LEAST_DRAWS = 20  # with fewer, half a chain is too short to fit the spectral density


class HeidelbergerWelch(NamedTuple):
    """Arrays [...]: share of the draws dropped, p value of the last test, half-width over |mean|."""

    start: np.ndarray
    p: np.ndarray
    halfwidth: np.ndarray


def heidelberger_welch(trace: np.ndarray, *, alpha: float = ALPHA) -> HeidelbergerWelch:
    """Return stationarity and half-width of each chain, [..., draw] -> [...] (Heidelberger and Welch 1983).

    With the partial sums B_k = sum of the first k of n draws - k * mean, and the spectral density S at
    frequency 0 of the second half of the chain, the Cramer-von Mises statistic is::

        C = sum of B_k^2 / (n^2 S)

    A chain whose C has p < ``alpha`` loses its first 10 % and is tested again, down to half of it.

    start      share of the draws dropped when the test passed; NaN where it never passed (see p) or where
               there was no test
    p          p value of the last test
    halfwidth  1.96 sqrt(S / n) / |mean| of the draws that passed, with their S; at most 0.1, the published
               eps, is good

    As ``heidel.diag`` of the package coda. NaN with fewer than 20 draws or where the chain is constant or
    not finite.
    """
    draws = trace.shape[-1]
    start, p, halfwidth = (np.full(trace.shape[:-1], np.nan) for _ in range(3))
    if draws < LEAST_DRAWS:
        return HeidelbergerWelch(start, p, halfwidth)
    density = spectrum_at_zero(trace[..., math.ceil(draws / 2) - 1 :])
    open_ = np.isfinite(density) & (density > 0) & (np.ptp(trace, axis=-1) > 0)
    for tenth in range(5):
        dropped = math.ceil(tenth * draws / 10)
        if 1 + tenth * draws / 10 > draws / 2 or not open_.any():
            break
        rest = trace[open_][:, dropped:]
        length = rest.shape[-1]
        bridge = rest.cumsum(-1) - rest.mean(-1, keepdims=True) * np.arange(1, length + 1)
        tested = 1 - cramer_von_mises((bridge**2).sum(-1) / (length**2 * density[open_]))
        mean = np.abs(rest.mean(-1))
        passed = tested > alpha
        with np.errstate(invalid="ignore", divide="ignore"):
            width = 1.96 * np.sqrt(spectrum_at_zero(rest) / length) / mean
        p[open_] = tested
        start[open_] = np.where(passed, dropped / draws, np.nan)
        halfwidth[open_] = np.where(passed & np.isfinite(width), width, np.nan)
        open_[open_] = ~passed
    return HeidelbergerWelch(start, p, halfwidth)


def cramer_von_mises(statistic: np.ndarray) -> np.ndarray:
    """Return the limit distribution function of the Cramer-von Mises statistic, in [0, 1].

    The series of Anderson and Darling (1952), with its first ten terms::

        sum over k of Gamma(k + 1/2) sqrt(4k + 1) / (k! pi^(3/2) sqrt(x)) exp(-u) K_1/4(u),
        u = (4k + 1)^2 / (16 x)
    """
    from scipy.special import gammaln, kve

    x = np.asarray(statistic, dtype=float)[..., None]
    k = np.arange(10)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        u = (4 * k + 1) ** 2 / (16 * x)
        size = np.exp(gammaln(k + 0.5) - gammaln(k + 1) - 2 * u) * np.sqrt(4 * k + 1)
        terms = size * kve(0.25, u) / (np.pi**1.5 * np.sqrt(x))
    total = np.where(np.isnan(terms), 0.0, terms).sum(-1)  # NaN is 0 times infinity: the term vanishes
    return np.where(np.isnan(x[..., 0]), np.nan, np.where(x[..., 0] > 10, 1.0, np.clip(total, 0, 1)))
