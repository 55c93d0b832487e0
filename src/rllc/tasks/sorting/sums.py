"""Cumulative sums of numbers from -largest to largest; the target at each is the sign of the sum so far.

Tokens are the numbers in ascending order, then the three answers: negative, zero, positive.
"""

import numpy as np

from rllc.seeds import generator
from rllc.tasks.batch import Examples


def blocks(count: int, *, largest: int, length: int, seed: int) -> Examples:
    """Return ``count`` sequences of independent, uniform numbers, with every position scored."""
    values = generator(seed, "sums", length, largest).integers(-largest, largest + 1, (count, length))
    signs = np.sign(values.cumsum(1))
    tokens, answers = values + largest, signs + 1 + 2 * largest + 1
    return Examples(tokens.astype(np.uint16), np.arange(length), answers.astype(np.uint16))
