"""Smooth a training curve with a Gaussian process in ln(step), and return its slope."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Sum, WhiteKernel

RESTARTS = 4
# Bounds of the hyperparameters, for a curve of mean 0 and variance 1: SIGNAL and NOISE are variances, LENGTH
# is in units of ln(step).
SIGNAL, LENGTH, NOISE = (1e-2, 1e2), (0.1, 5.0), (1e-8, 1.0)


class Smooth(NamedTuple):
    """Posterior mean of a curve, and of its slope d/dln(step), at n checkpoints: arrays [n].

    covariance  joint posterior covariance of (values, slopes): [2n, 2n]
    noise       standard deviation of the fitted white noise
    """

    value: np.ndarray
    slope: np.ndarray
    covariance: np.ndarray
    noise: float

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


def smooth(step: np.ndarray, value: np.ndarray) -> Smooth:
    """Return the Gaussian-process posterior of a curve and its slope over x = ln(step).

    The kernel is k(x, x') = c exp(-(x - x')^2 / (2 l^2)), plus white noise. c, l and the noise maximise the
    marginal likelihood of the standardised curve, within the bounds ``SIGNAL``, ``LENGTH`` and ``NOISE``. The
    slope f' has cov(f'(x), f(x')) = -(x - x') k / l^2 and
    cov(f'(x), f'(x')) = (1 / l^2 - (x - x')^2 / l^4) k.

    step, value  [n], steps positive and ascending, values finite
    """
    x, level, scale = np.log(step), value.mean(), value.std() or 1.0
    kernel = ConstantKernel(1.0, SIGNAL) * RBF(1.0, LENGTH) + WhiteKernel(0.01, NOISE)
    process = fitted(kernel, x, (value - level) / scale, restarts=RESTARTS)
    kernel = process.kernel_
    assert isinstance(kernel, Sum)
    signal, white = kernel.k1, kernel.k2.noise_level
    length = signal.k2.length_scale
    distance = x[:, None] - x
    value_cov = signal(x[:, None])
    slope_value_cov = -distance / length**2 * value_cov
    slope_cov = (1 / length**2 - distance**2 / length**4) * value_cov
    cross = np.vstack([value_cov, slope_value_cov])  # values, then slopes, with the data
    factor = cho_factor(value_cov + (white + process.alpha) * np.eye(x.size), lower=True)
    mean = cross @ cho_solve(factor, process.y_train_)
    prior = np.block([[value_cov, slope_value_cov.T], [slope_value_cov, slope_cov]])
    covariance = prior - cross @ cho_solve(factor, cross.T)
    mean_value, mean_slope = scale * mean.reshape(2, -1)
    return Smooth(mean_value + level, mean_slope, scale**2 * covariance, scale * np.sqrt(white))


def fitted(kernel: Kernel, x: np.ndarray, value: np.ndarray, *, restarts: int) -> GaussianProcessRegressor:
    """Fit a Gaussian process by maximum likelihood, the best of 1 + ``restarts`` optimisations.

    x, value  [n]

    sklearn's warnings are hidden: a hyperparameter at its bound is expected here, and some of several
    optimisations may fail where the likelihood is flat.
    """
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=restarts, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return process.fit(x[:, None], value)
