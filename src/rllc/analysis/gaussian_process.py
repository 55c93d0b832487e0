"""Smooth curves over training by Gaussian processes in the logarithm of the step, with slopes."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Sum, WhiteKernel

RESTARTS = 4
SIGNAL, LENGTH, NOISE = (1e-2, 1e2), (0.1, 5.0), (1e-8, 1.0)  # bounds; variances of a standardised curve


class Smooth(NamedTuple):
    """A curve and its slope d/dln(step) at its n checkpoints: posterior means [n], in the curve's units.

    covariance  of values and slopes together [2n, 2n]
    noise       standard deviation of the residuals
    """

    value: np.ndarray
    slope: np.ndarray
    covariance: np.ndarray
    noise: float

    @property
    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior standard deviations of values and slopes."""
        value, slope = np.sqrt(np.maximum(self.covariance.diagonal(), 0.0)).reshape(2, -1)
        return value, slope

    def draws(self, count: int, *, random_seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return joint draws of values and slopes: [count, n] each."""
        mean = np.concatenate([self.value, self.slope])
        random = np.random.default_rng(random_seed)
        drawn = random.multivariate_normal(mean, self.covariance, count, method="eigh", check_valid="ignore")
        return drawn[:, : self.value.size], drawn[:, self.value.size :]


def smooth(step: np.ndarray, value: np.ndarray) -> Smooth:
    """Return the posterior of a Gaussian process c exp(-(x - x')^2 / 2 l^2) with white noise, x = ln(step).

    c, l and the noise maximise the likelihood within ``SIGNAL``, ``LENGTH`` and ``NOISE``. The
    slope is a linear function of the process: cov(f'(x), f(x')) = -(x - x') / l^2 k and
    cov(f'(x), f'(x')) = (1 / l^2 - (x - x')^2 / l^4) k.

    step, value  [n], steps positive and ascending, values finite
    """
    x, level, scale = np.log(step), value.mean(), value.std() or 1.0
    kernel = ConstantKernel(1.0, SIGNAL) * RBF(1.0, LENGTH) + WhiteKernel(0.01, NOISE)
    process = fitted(kernel, x, (value - level) / scale, restarts=RESTARTS)
    found = process.kernel_
    assert isinstance(found, Sum)
    signal, white = found.k1, found.k2.noise_level
    length = signal.k2.length_scale
    apart = x[:, None] - x
    values = signal(x[:, None])
    slopes = -apart / length**2 * values
    curvature = (1 / length**2 - apart**2 / length**4) * values
    both = np.vstack([values, slopes])
    factor = cho_factor(values + (white + process.alpha) * np.eye(x.size), lower=True)
    mean = both @ cho_solve(factor, process.y_train_)
    covariance = np.block([[values, slopes.T], [slopes, curvature]]) - both @ cho_solve(factor, both.T)
    f, slope = scale * mean.reshape(2, -1)
    return Smooth(f + level, slope, scale**2 * covariance, scale * np.sqrt(white))


def fitted(kernel: Kernel, x: np.ndarray, value: np.ndarray, *, restarts: int) -> GaussianProcessRegressor:
    """Return the process of maximum likelihood; ignore warnings of hyperparameters at a bound."""
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=restarts, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return process.fit(x[:, None], value)
