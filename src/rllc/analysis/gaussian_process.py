"""Smooth a training curve with a Gaussian process in ln(step), and return its slope."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

# Bounds of the hyperparameters, for a curve of mean 0 and variance 1: SIGNAL and NOISE are variances, LENGTH
# is in units of ln(step), SCALE bounds the factor of known standard errors.
SIGNAL, LENGTH, NOISE, SCALE = (1e-4, 1e2), (0.1, 5.0), (1e-8, 1.0), (1.0, 2.0)
STARTS = (0.2, 0.5, 1.2, 3.0)  # lengths from which the likelihood is maximised
JITTER = 1e-10  # added to the diagonal, for a curve of variance 1


class Smooth(NamedTuple):
    """Posterior mean of a curve, and of its slope d/dln(step), at n checkpoints: arrays [n].

    covariance   joint posterior covariance of (values, slopes): [2n, 2n]
    noise        standard deviation of the noise; with known errors, the root mean square over checkpoints
    error_scale  fitted factor of the known standard errors; NaN without them
    """

    value: np.ndarray
    slope: np.ndarray
    covariance: np.ndarray
    noise: float
    error_scale: float = np.nan

    @property
    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior standard deviations of values and slopes: two arrays [n]."""
        value, slope = np.sqrt(np.maximum(self.covariance.diagonal(), 0.0)).reshape(2, -1)
        return value, slope

    def draws(self, count: int, *, random_seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ``count`` joint posterior samples of values and slopes: two arrays [count, n]."""
        mean = np.concatenate([self.value, self.slope])
        generator = np.random.default_rng(random_seed)
        samples = generator.multivariate_normal(
            mean, self.covariance, count, method="eigh", check_valid="ignore"
        )
        return samples[:, : self.value.size], samples[:, self.value.size :]


def smooth(step: np.ndarray, value: np.ndarray, error: np.ndarray | None = None) -> Smooth:
    """Return the Gaussian-process posterior of a curve and its slope over x = ln(step).

    The kernel is k(x, x') = c exp(-(x - x')^2 / (2 l^2)), or, where errors are known, the sum of two such
    kernels: with one length for all of training, the curve could smooth away a sharp part that small errors
    show to be real. The noise of point i has the variance (s error_i)^2; where no errors are known, one
    fitted variance. All c and l, and s or the variance, maximise the marginal likelihood of the standardised
    curve, within the bounds ``SIGNAL``, ``LENGTH``, ``SCALE`` and ``NOISE``. The slope f' has
    cov(f'(x), f(x')) = -(x - x') k / l^2 and cov(f'(x), f'(x')) = (1 / l^2 - (x - x')^2 / l^4) k.

    step, value  [n], steps positive and ascending, values finite
    error        [n] standard errors of the values; used if all are finite and one is positive
    """
    x, level, spread = np.log(step), value.mean(), value.std() or 1.0
    known = error is not None and bool(np.isfinite(error).all() and (error > 0).any())
    shape = (error / spread) ** 2 if error is not None and known else np.ones_like(x)
    distance, target = x[:, None] - x, (value - level) / spread
    kernels, factor = _fit(distance, target, shape, known)
    value_cov = np.zeros_like(distance)
    slope_value_cov, slope_cov = np.zeros_like(distance), np.zeros_like(distance)
    for signal, length in kernels:
        kernel = signal * np.exp(-(distance**2) / (2 * length**2))
        value_cov += kernel
        slope_value_cov -= distance / length**2 * kernel
        slope_cov += (1 / length**2 - distance**2 / length**4) * kernel
    cross = np.vstack([value_cov, slope_value_cov])  # values, then slopes, with the data
    cholesky = cho_factor(value_cov + np.diag(factor * shape + JITTER), lower=True)
    mean = cross @ cho_solve(cholesky, target)
    prior = np.block([[value_cov, slope_value_cov.T], [slope_value_cov, slope_cov]])
    covariance = prior - cross @ cho_solve(cholesky, cross.T)
    mean_value, mean_slope = spread * mean.reshape(2, -1)
    noise = spread * np.sqrt(factor * shape.mean())
    error_scale = np.sqrt(factor) if known else np.nan
    return Smooth(mean_value + level, mean_slope, spread**2 * covariance, float(noise), float(error_scale))


def _fit(
    distance: np.ndarray, target: np.ndarray, shape: np.ndarray, known: bool
) -> tuple[np.ndarray, float]:
    """Return signal variances and lengths [kernel, 2], and the factor of the noise, of largest likelihood.

    known  whether ``shape`` [n] are the variances of known errors, rather than ones
    """

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        factor = np.exp(logs[-1])
        scaled = [(distance / length) ** 2 for length in np.exp(logs[1:-1:2])]
        kernels = [
            signal * np.exp(-each / 2) for signal, each in zip(np.exp(logs[:-1:2]), scaled, strict=True)
        ]
        try:
            cholesky = cho_factor(sum(kernels) + np.diag(factor * shape + JITTER), lower=True)
        except LinAlgError:
            return 1e25, np.zeros_like(logs)
        weights = cho_solve(cholesky, target)
        inner = cho_solve(cholesky, np.eye(target.size)) - np.outer(weights, weights)
        slopes = [
            each for kernel, part in zip(kernels, scaled, strict=True)
            for each in ((inner * kernel).sum(), (inner * kernel * part).sum())
        ]  # fmt: skip
        value = target @ weights / 2 + np.log(cholesky[0].diagonal()).sum()
        return float(value), np.array([*slopes, inner.diagonal() @ (factor * shape)]) / 2

    starts = [(1.0, length) for length in STARTS]
    if known:
        starts = [(1.0, long, 0.01, short) for long in STARTS[1:] for short in STARTS[:2] if short < long]
    count = len(starts[0]) // 2
    of_noise = (SCALE[0] ** 2, SCALE[1] ** 2) if known else NOISE
    bounds = np.log(np.array([*[SIGNAL, LENGTH] * count, of_noise]))
    first = 1.0 if known else 0.01
    found = [
        minimize(loss, np.log([*start, first]), jac=True, method="L-BFGS-B", bounds=bounds.tolist())
        for start in starts
    ]
    best = np.exp(min(found, key=lambda each: each.fun).x)
    return best[:-1].reshape(count, 2), float(best[-1])
