"""Ranks of numbers, and how alike two orders are."""

import numpy as np


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 of a vector, ties given their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's rank correlation over the pairs in which both are finite.

    The Pearson correlation of the mean ranks; NaN with fewer than 3 pairs or where either is constant.
    """
    a, b = np.ravel(a), np.ravel(b)
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < 3:
        return float("nan")
    x, y = (ranks(values[both]) - (both.sum() + 1) / 2 for values in (a, b))
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > 0 else float("nan")
