"""Estimate the variance of an LLC that comes from the choice of minibatches."""

import numpy as np

BLOCKS = 5  # number of blocks of consecutive kept draws; their means are treated as independent


def shared_variance(trace: np.ndarray) -> float:
    """Return the part of the variance of ``trace.mean()`` that comes from minibatches shared by all chains.

    trace is [chain, draw]. The part is the mean covariance between two chains' block means, divided by the
    number of blocks, at least 0. NaN with fewer than two chains or blocks. A trend shared by all chains is
    included.
    """
    blocks = block_means(trace[np.isfinite(trace).all(-1)])
    chains, count = blocks.shape
    if chains < 2 or count < 2:
        return float("nan")
    own, common = blocks.var(1, ddof=1).mean(), blocks.mean(0).var(ddof=1)
    return float(max(0.0, (common - own / chains) * chains / (chains - 1)) / count)


def data_variance(rise: np.ndarray, group_var: np.ndarray, variance: np.ndarray) -> float:
    """Return the variance of the mean of ``rise`` [group, pair] from the choice of one minibatch per group.

    group_var  [group]: variance of the group's mean from its pairs
    variance   [group]: s_t^2

    To leading order, a group's mean is s_t^2 times the minibatch's curvature. The variance of the curvature
    is the observed variance between groups minus the variance of the groups' means from their pairs.
    """
    moved = variance > 0
    weight = variance[moved] / variance.sum()
    if len(weight) < 2:
        return float("nan")
    curvature, error = rise[moved].mean(1) / weight, group_var[moved] / weight**2
    center = (weight * curvature).sum()
    spread = (weight * (curvature - center) ** 2).sum() - (weight * (1 - weight) * error).sum()
    of_one = max(0.0, spread / (weight * (1 - weight)).sum())
    return float(of_one * (weight**2).sum() / len(variance) ** 2)


def block_means(trace: np.ndarray) -> np.ndarray:
    """Return means over blocks of consecutive draws: [chain, draw] -> [chain, block]."""
    parts = np.array_split(trace, min(BLOCKS, trace.shape[1]), axis=1)
    return np.stack([part.mean(1) for part in parts], 1)
