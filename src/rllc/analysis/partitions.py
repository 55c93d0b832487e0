"""How alike two groupings of the same heads are, and how often chance does as well."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from math import comb, factorial, prod

import numpy as np

NAN = float("nan")


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """The adjusted Rand index of a grouping [head] with the true one ``b``; NaN where that is one group.

    1: the same, whatever the groups are called; 0: as chance gives. (Hubert & Arabie 1985)
    """
    from sklearn.metrics import adjusted_rand_score

    if len(np.unique(b)) < 2:
        return NAN
    return float(adjusted_rand_score(a, b))


def share_as_alike(a: np.ndarray, b: np.ndarray) -> float:
    """The share of all orders of ``a`` with an adjusted Rand index with ``b`` of at least theirs: exact p.

    The sizes of groups stay, so the index grows with the number of pairs of heads that are together in both,
    sum_ij C(n_ij, 2) of the table n of heads by group of a and of b. An order is as likely as another, and
    those of a table number prod_j of the ways to choose its column from what the columns before leave. All
    tables are gone through, column by column; tables with the same sum and the same remains are one.
    NaN where ``b`` is one group.
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
    (sums,) = ways.values()  # nothing remains of any row
    every = factorial(len(a)) // prod(map(factorial, columns))
    return sum(count for total, count in sums.items() if total >= seen) / every


def _columns(left: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    """All ways to take ``size`` heads from groups of which so many are left."""
    for first in product(*(range(min(have, size) + 1) for have in left[:-1])):
        rest = size - sum(first)
        if 0 <= rest <= left[-1]:
            yield *first, rest
