"""Cumulative sums: numbers from -largest to largest; at each, the sign of the sum so far is predicted.

Tokens are the numbers, in order, then the three answers: negative, zero, positive.
"""

import numpy as np

from rllc.seeds import generator


def draw_sums(count: int, *, length: int, largest: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and targets of ``count`` sequences of independent, uniform numbers: both [count, length]."""
    values = generator(seed, "sums", length, largest).integers(-largest, largest + 1, (count, length))
    signs = np.sign(values.cumsum(1))
    return (values + largest).astype(np.uint16), (signs + 1 + 2 * largest + 1).astype(np.uint16)
