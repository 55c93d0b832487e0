"""Lists to sort: distinct numbers in random order, a separator, and the same numbers in ascending order.

    3 1 2 | 1 2 3        tokens are the numbers 0 .. numbers - 1; the separator is the token after them

From the separator on, each prediction is the next number of the sorted list.
"""

import math

import numpy as np

from rllc.seeds import generator
from rllc.tasks.batch import Examples


def blocks(count: int, *, numbers: int, length: int, swap: float, seed: int) -> Examples:
    """Return ``count`` different lists as blocks. Blocks of another ``swap`` differ only in the swaps."""
    lists = draw_lists(count, length=length, numbers=numbers, seed=seed)
    contexts = sorting_blocks(lists, numbers=numbers, swap=swap, seed=seed)
    return Examples(contexts, positions=np.arange(length, 2 * length))


def draw_lists(count: int, *, length: int, numbers: int, seed: int) -> np.ndarray:
    """Draw ``count`` different lists of ``length`` distinct numbers below ``numbers``: [count, length].

    All lists are equally likely. Draws of different ``count`` share lists, so training and held-out lists
    must come from one draw.

    Raises ValueError where fewer lists exist.
    """
    if not 1 <= length <= numbers:
        raise ValueError(
            f"a list of {length} different numbers needs at least {length} numbers, not {numbers}"
        )
    if (possible := math.perm(numbers, length)) < count:
        raise ValueError(f"there are {possible} lists of {length} of {numbers} numbers, not {count}")
    random, found = generator(seed, "lists", length, numbers), np.empty((0, length), dtype=np.int64)
    while len(found) < count:
        more = random.random((count, numbers)).argsort(1)[:, :length]
        found = np.concatenate([found, more])
        found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
    return found[:count]


def perturbed(ordered: np.ndarray, *, swap: float, random: np.random.Generator) -> np.ndarray:
    """Return ascending lists with neighbours a < b swapped with probability swap / (b - a), left to right.

    Several swaps may move one element further. ``swap`` 0 changes nothing; the post uses 0.4.
    """
    lists = ordered.copy()
    for left in range(lists.shape[1] - 1):
        gap = lists[:, left + 1] - lists[:, left]
        chosen = random.random(len(lists)) < swap / gap
        lists[chosen, left : left + 2] = lists[chosen, left : left + 2][:, ::-1]
    return lists


def sorting_blocks(lists: np.ndarray, *, numbers: int, swap: float, seed: int) -> np.ndarray:
    """Return lists, separator and sorted lists (perturbed with ``swap``): uint16 [count, 2 length + 1]."""
    ordered = perturbed(np.sort(lists, 1), swap=swap, random=generator(seed, "swaps"))
    separator = np.full((len(lists), 1), numbers)
    return np.concatenate([lists, separator, ordered], 1).astype(np.uint16)
