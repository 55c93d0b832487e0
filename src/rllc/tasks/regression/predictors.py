"""The optimal predictors of an answer from the preceding pairs; numpy, float64.

Inputs x [sequence, K, D], answers y [sequence, K] -> predictions [sequence, K]. The prediction at k uses the
pairs before k, and x_k.
"""

import numpy as np

AT_ONCE = 2**23  # most numbers in a table of weights over tasks


def ridge(x: np.ndarray, y: np.ndarray, *, noise_variance: float) -> np.ndarray:
    """Return x_k . (X'X + noise_variance I)^-1 X'y: the posterior mean for w ~ N(0, I).

    This is the Bayes predictor for infinitely many tasks, with the smallest mean squared error at each k.
    """
    count, length, dimension = x.shape
    predictions = np.zeros((count, length))
    for k in range(1, length):
        before = x[:, :k]
        normal = before.mT @ before + noise_variance * np.eye(dimension)
        w = np.linalg.solve(normal, before.mT @ y[:, :k, None])
        predictions[:, k] = (x[:, k, None] @ w)[:, 0, 0]
    return predictions


def dmmse(x: np.ndarray, y: np.ndarray, *, pool: np.ndarray, noise_variance: float) -> np.ndarray:
    """Return x_k . sum_m p_m t_m, with p = softmax_m(- sum over pairs (y - t_m . x)^2 / (2 noise_variance)).

    pool  [task, D]: the tasks t_m, with equal prior probabilities

    This is the Bayes predictor for finitely many tasks (arXiv 2306.15063).
    """
    rows = max(1, AT_ONCE // (pool.shape[0] * x.shape[1]))
    parts = [_dmmse(x[i : i + rows], y[i : i + rows], pool, noise_variance) for i in range(0, len(x), rows)]
    return np.concatenate(parts)


def _dmmse(x: np.ndarray, y: np.ndarray, pool: np.ndarray, noise_variance: float) -> np.ndarray:
    squares = (y[:, :, None] - x @ pool.T) ** 2  # [sequence, K, task]
    before = np.concatenate([np.zeros_like(squares[:, :1]), squares[:, :-1].cumsum(1)], 1)
    likely = np.exp(-(before - before.min(-1, keepdims=True)) / (2 * noise_variance))
    w = (likely / likely.sum(-1, keepdims=True)) @ pool
    return (x * w).sum(-1)
