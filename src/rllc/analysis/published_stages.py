"""The published rule for stage boundaries (arXiv 2402.02364, App. A.5), for comparison."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

TOLERANCE = 8.0  # for the regression; the language model's is 0.25, without the minimum condition
RESTARTS = 10


def published(
    step: np.ndarray,
    value: np.ndarray,
    *,
    tolerance: float = TOLERANCE,
    minima: bool = True,
    restarts: int = RESTARTS,
) -> np.ndarray:
    """Return the steps of the plateaus: strict local minima of |slope| below ``tolerance``.

    The slope at a checkpoint is the mean of the two difference quotients of a Gaussian process against
    x = ln(step + 1), at the ends that of their neighbours. The process is c exp(-(x - x')^2 / 2 l^2), with
    c in 1e-3 .. 1e3 and l in 0.5 .. 1e3, without noise and without a mean. On the published curves both end
    on a bound (c = 1e3, l = 0.5), so the bound determines the smoothing.

    minima  False: every checkpoint with such a slope, as in the authors' list for the language model

    The authors index the minima among interior checkpoints but look up the steps among all of them. So each
    printed boundary is one checkpoint early: 126,262 for 131,313. Here it is at the minimum.
    """
    x = np.log1p(step)
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * RBF(3.0, (0.5, 1e3))
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=restarts, random_state=0)
    with warnings.catch_warnings():  # hyperparameters end on their bounds, and some optimisations fail
        warnings.simplefilter("ignore", ConvergenceWarning)
        process.fit(x[:, None], value)
    quotients = np.diff(process.predict(x[:, None])) / np.diff(x)
    steep = np.abs(np.pad((quotients[:-1] + quotients[1:]) / 2, 1, mode="edge"))
    if not minima:
        return step[steep < tolerance]
    interior = steep[1:-1]
    least = (interior < steep[:-2]) & (interior < steep[2:]) & (interior < tolerance)
    return step[1 + np.flatnonzero(least)]  # 1 +: from interior to all checkpoints
