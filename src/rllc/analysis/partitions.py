"""Measure the agreement of two groupings of the same heads, and its probability by chance."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from math import comb, factorial, prod

import numpy as np

NAN = float("nan")


def canonical(labels: np.ndarray) -> np.ndarray:
    """Return the clusters renumbered in the order of their first member; -1 stays."""
    seen = list(dict.fromkeys(label for label in labels.tolist() if label >= 0))
    return np.asarray([seen.index(label) if label >= 0 else -1 for label in labels.tolist()], dtype=np.int32)


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Return the adjusted Rand index of a grouping [head] with the true one ``b``; NaN where b is one group.

    1: equal up to the names of groups; 0: chance level. (Hubert & Arabie 1985)
    """
    from sklearn.metrics import adjusted_rand_score

    if len(np.unique(b)) < 2:
        return NAN
    return float(adjusted_rand_score(a, b))


def share_as_alike(a: np.ndarray, b: np.ndarray) -> float:
    """Return the share of all orders of ``a`` whose adjusted Rand index with ``b`` is at least a's: exact p.

    The group sizes stay, so the index grows with the number of pairs of heads that are together in both,
    sum_ij C(n_ij, 2) of the table n of heads by group of a and of b. All orders are equally likely. The
    number of orders with a given table is the product over its columns of the ways to choose the column from
    the heads left by earlier columns. All tables are enumerated column by column; tables with equal sum and
    equal remaining heads are merged. NaN where ``b`` is one group.
    """
    together = Counter(zip(a.tolist(), b.tolist(), strict=True))
    rows, columns = (list(Counter(labels.tolist()).values()) for labels in (a, b))
    if len(columns) < 2:
        return NAN
    seen = sum(comb(count, 2) for count in together.values())
    ways: dict[tuple[int, ...], dict[int, int]] = {tuple(rows): {0: 1}}
    for size in columns:
        further: dict[tuple[int, ...], dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for left, sums in ways.items():
            for column in _columns(left, size):
                remains = tuple(have - take for have, take in zip(left, column, strict=True))
                number = prod(map(comb, left, column))
                pairs = sum(comb(take, 2) for take in column)
                for total, count in sums.items():
                    further[remains][total + pairs] += count * number
        ways = further
    (sums,) = ways.values()  # no heads remain
    every = factorial(len(a)) // prod(map(factorial, columns))
    return sum(count for total, count in sums.items() if total >= seen) / every


def _columns(left: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to take ``size`` heads from groups with ``left`` heads each."""
    for first in product(*(range(min(have, size) + 1) for have in left[:-1])):
        rest = size - sum(first)
        if 0 <= rest <= left[-1]:
            yield *first, rest
