"""Standard errors over independent units of data, such as contexts or random sequences."""

import numpy as np
import torch
from torch import Tensor

BLOCKS = 16  # few enough to store; their 15 degrees of freedom widen an interval by 9 %


def error_of_mean(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over the last axis, of units: [..., unit] -> [...].

    It is sd / sqrt(units). The sd has units - 1 degrees of freedom. NaN with fewer than two units.
    """
    count = values.shape[-1]
    if count < 2:
        return np.full(values.shape[:-1], np.nan)
    return values.std(-1, ddof=1) / np.sqrt(count)


def error_of_ratio(sums: np.ndarray, counts: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Return the standard error of sum(sums) / sum(counts) over units: [..., unit], [unit] -> [...].

    This is a mean over items of which units hold different numbers, and the items of a unit depend on each
    other. To first order the error is sd(sums - ratio * counts) * sqrt(units) / sum(counts). With equal
    counts it is the error of the mean. NaN with fewer than two units.

    others  another unit that each unit's sum also depends on: [unit], int, in one or several cycles. Two
            neighbours of a cycle share a unit, so the variance of the total gains twice their covariances. A
            negative estimate of their sum counts as 0
    """
    units, total = counts.size, counts.sum()
    if units < 2:
        return np.full(sums.shape[:-1], np.nan)
    apart = sums - sums.sum(-1, keepdims=True) / total * counts
    squares = (apart**2).sum(-1)
    if others is not None:
        mutual = others[others] == np.arange(units)  # a cycle of two: one pair, which the sum has twice
        shared = np.where(mutual, 1, 2) * apart * apart[..., others]
        squares = squares + shared.sum(-1).clip(min=0)
    return np.sqrt(squares * units / (units - 1)) / total


class BatchedErrors:
    """Standard errors of means over contexts of which no batch is kept.

    The sums are of deviations from the mean of the first batch. So rounding loses nothing where the spread is
    small against the mean.
    """

    def __init__(self) -> None:
        self._count = 0
        self._center = self._sum = self._squares = torch.zeros((), dtype=torch.float64)

    def add(self, values: Tensor) -> None:
        """Add the values of a batch: [context, ...]."""
        values = values.double()
        if not self._count:
            self._center = values.mean(0)
        apart = values - self._center
        self._count += len(values)
        self._sum = self._sum + apart.sum(0)
        self._squares = self._squares + apart.square().sum(0)

    def errors(self) -> np.ndarray:
        """Return the standard errors: [...]; NaN with fewer than two contexts."""
        if self._count < 2:
            return np.full(tuple(self._sum.shape), np.nan)
        squares = (self._squares - self._sum.square() / self._count).clamp(min=0)
        return (squares / (self._count * (self._count - 1))).sqrt().cpu().numpy()


def block_means(values: np.ndarray) -> np.ndarray:
    """Return the means over ``BLOCKS`` blocks of neighbouring units: [..., unit] -> [..., block].

    The blocks are as equal in size as possible. Curves measured on the same units move together from block
    to block, so blocks give the errors of their differences. NaN with fewer units than blocks.
    """
    if values.shape[-1] < BLOCKS:
        return np.full((*values.shape[:-1], BLOCKS), np.nan)
    return np.stack([part.mean(-1) for part in np.array_split(values, BLOCKS, axis=-1)], axis=-1)


def block_ratios(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return sum(sums) / sum(counts) over ``BLOCKS`` blocks of units: [..., unit], [unit] -> [..., block].

    NaN with fewer units than blocks, and in a block without items.
    """
    counted = block_means(counts.astype(float))
    return block_means(sums) / np.where(counted > 0, counted, np.nan)
