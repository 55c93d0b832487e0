"""Estimate the spectral density of a series at frequency 0: length times the variance of its mean."""

import numpy as np


def spectrum_at_zero(series: np.ndarray) -> np.ndarray:
    """Return the spectral density at 0 of each series, by an autoregression: [..., draw] -> [...].

    With coefficients a_1..a_p and innovation variance v of the fitted AR(p)::

        v / (1 - a_1 - .. - a_p)^2

    Yule-Walker (Levinson's recursion on the autocovariances divided by the length), p <= 10 log10(length)
    chosen by AIC, v corrected by length / (length - p - 1). From 12 values on, this equals ``ar`` of R, and
    so ``spectrum0.ar`` of the package coda (Plummer et al. 2006). For fewer values, these also allow an order
    without degrees of freedom left. 0 where the series is a straight line, as in coda; NaN where a value is
    not finite or with fewer than 3 values.
    """
    series = np.asarray(series, dtype=float)
    length = series.shape[-1]
    if length < 3:
        return np.full(series.shape[:-1], np.nan)
    highest = min(length - 2, int(10 * np.log10(length)))
    centered = series - series.mean(-1, keepdims=True)
    covariance = np.stack(
        [(centered[..., : length - lag] * centered[..., lag:]).sum(-1) for lag in range(highest + 1)]
    )
    covariance /= length
    with np.errstate(invalid="ignore", divide="ignore"):
        variance, gain = _autoregressions(covariance)
        orders = np.arange(highest + 1).reshape(-1, *[1] * (series.ndim - 1))
        criterion = length * np.log(variance) + 2 * orders
        best = np.where(np.isnan(criterion), np.inf, criterion).argmin(0)[None]
        chosen, order = np.take_along_axis(variance, best, 0)[0], best[0]
        density = chosen * length / (length - order - 1) / np.take_along_axis(gain, best, 0)[0] ** 2
    return np.where(_straight(centered), 0.0, density)


def _autoregressions(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return innovation variance and 1 - sum of coefficients of every order [order, ...], by Levinson."""
    variance, gain = np.empty_like(covariance), np.empty_like(covariance)
    variance[0], gain[0] = covariance[0], 1.0
    coefficients = np.empty((0, *covariance.shape[1:]))
    for order in range(1, len(covariance)):
        explained = (coefficients * covariance[order - 1 : 0 : -1]).sum(0)
        partial = (covariance[order] - explained) / variance[order - 1]
        coefficients = np.concatenate([coefficients - partial * coefficients[::-1], partial[None]])
        variance[order] = variance[order - 1] * (1 - partial**2)
        gain[order] = 1 - coefficients.sum(0)
    return variance, gain


def _straight(centered: np.ndarray) -> np.ndarray:
    """Return whether a series minus its fitted straight line is zero up to rounding: [...]."""
    time = np.arange(centered.shape[-1]) - (centered.shape[-1] - 1) / 2
    slope = (centered @ time / (time @ time))[..., None]
    rest = np.sqrt(((centered - slope * time) ** 2).mean(-1))
    return rest <= 1e-12 * np.abs(centered).max(-1)
