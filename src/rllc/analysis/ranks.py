"""Ranks of numbers, and correlations."""

import numpy as np

FEWEST = 3  # least pairs of a correlation


def ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1 along the last axis; ties get their mean rank; NaN stays NaN and is not counted."""
    from scipy.stats import rankdata  # this import takes half a second, which most figures do without

    return rankdata(values, axis=-1, nan_policy="omit")


def spearman(a: np.ndarray, b: np.ndarray) -> float | np.ndarray:
    """Return Spearman's rank correlation along the last axis, over pairs with both values finite.

    It is the Pearson correlation of the mean ranks. NaN with fewer than 3 pairs or where either is constant.
    """
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), b)
    both = np.isfinite(a) & np.isfinite(b)
    return pearson(*(ranks(np.where(both, values, np.nan)) for values in (a, b)))


def pearson(a: np.ndarray, b: np.ndarray) -> float | np.ndarray:
    """Return Pearson's correlation along the last axis, over pairs with both values finite.

    NaN with fewer than 3 pairs or where either is constant.
    """
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), b)
    both = np.isfinite(a) & np.isfinite(b)
    count = both.sum(-1)

    def centred(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values minus their mean, and whether they are constant."""
        total = np.where(both, values, 0.0).sum(-1)
        less = np.where(both, values - (total / np.maximum(count, 1))[..., None], 0.0)
        high, low = (np.where(both, values, end) for end in (-np.inf, np.inf))
        return less, high.max(-1, initial=-np.inf) <= low.min(-1, initial=np.inf)

    (x, flat), (y, even) = centred(a), centred(b)
    size = np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
    known = (count >= FEWEST) & ~flat & ~even & (size > 0)
    return np.divide((x * y).sum(-1), size, out=np.full(count.shape, np.nan), where=known)[()]
