"""Learning coefficients of deep linear networks (Aoyagi 2024, "Consideration on the learning efficiency of
multiple-layered neural networks with linear units", Neural Networks 172, Theorem 1).
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from rllc.validation.truths.monomials import Coefficient


def deep_linear(widths: Sequence[int], *, rank: int) -> Coefficient:
    """Return the coefficient of y = W_L ... W_1 x with a true map of rank ``rank``.

    It is the smallest local coefficient over all true parameters.

    widths  H_0 (inputs), ..., H_L (outputs), L >= 1

    With M_s = H_s - r, take the set S of the ell + 1 smallest M_s for which max S < min of the others,
    sum S >= ell max S and sum S < ell min of the others. With Sigma = sum S, M = ceil(Sigma / ell) and
    a = Sigma - (M - 1) ell::

        value = [r (H_0 + H_L) - r^2] / 2 + a (ell - a) / (4 ell) - (ell (ell - 1) / 4) (Sigma / ell)^2
                + 1/2 sum_{i<j in S} M_i M_j,      multiplicity = a (ell - a) + 1

    It is the local coefficient where every W_l has rank r, as at a balanced point. There, apart from smooth
    directions, the network has true map 0 at weights 0, and every other solution of that network can be
    scaled to these weights. Loss: population mean squared error with a full-rank input covariance.

    Raises ValueError where a width is below 1 or the rank is not between 0 and the smallest width.
    """
    widths, r = list(widths), rank
    if len(widths) < 2 or min(widths) < 1 or not 0 <= r <= min(widths):
        raise ValueError(
            f"widths {widths}, rank {r}: expected at least inputs and outputs, widths of at least 1 and a "
            "rank from 0 to the smallest of them"
        )
    chosen = _smallest([width - r for width in widths])
    ell = len(chosen) - 1
    total = sum(chosen)
    ceiling = -(-total // ell)
    a = total - (ceiling - 1) * ell
    value = (
        Fraction(r * (widths[0] + widths[-1]) - r**2, 2)
        + Fraction(a * (ell - a), 4 * ell)
        - Fraction(ell * (ell - 1), 4) * Fraction(total, ell) ** 2
        + Fraction(sum(x * y for x, y in combinations(chosen, 2)), 2)
    )
    return Coefficient(value, a * (ell - a) + 1)


def _smallest(excess: Sequence[int]) -> list[int]:
    """Return the set S of the theorem, ascending: the smallest set with sum S < ell min of the others.

    The other two conditions then hold. They hold for two values, and where the next value m is at most
    sum S / ell, sum S + m >= (ell + 1) m.
    """
    ordered = sorted(excess)
    for count in range(2, len(ordered)):
        if sum(ordered[:count]) < (count - 1) * ordered[count]:
            return ordered[:count]
    return ordered
