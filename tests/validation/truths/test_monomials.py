from fractions import Fraction

import numpy as np
import pytest

from rllc.validation.truths.monomials import monomial, separable_sum
from rllc.validation.truths.quadrature import nodes

# exponents k and h of (prod w_i^k_i)^2 prod |w_i|^h_i -> value, as published test cases of two code bases have them
GRID = [
    ((0, 1), (0, 0), "1/2"), ((1, 0), (0, 0), "1/2"), ((1, 2), (0, 0), "1/4"), ((1, 3), (0, 0), "1/6"),
    ((1, 3), (1, 0), "1/6"), ((3, 1), (1, 1), "1/3"), ((1, 1), (0, 0), "1/2"), ((2, 1), (2, 2), "3/4"),
    ((2, 3), (0, 4), "1/4"), ((1, 1), (1, 1), "1"), ((4, 1), (6, 3), "7/8"), ((3, 1), (3, 2), "2/3"),
    ((0, 2), (0, 0), "1/4"), ((2, 2), (0, 0), "1/4"), ((0, 3), (0, 0), "1/6"), ((3, 3), (0, 0), "1/6"),
]  # fmt: skip


@pytest.mark.parametrize(("k", "h", "value"), GRID)
def test_worked_values(k, h, value):
    assert monomial([2 * power for power in k], h).value == Fraction(value)


@pytest.mark.parametrize(
    ("k", "h"), [((1, 1), (0, 0)), ((1, 2), (0, 0)), ((2, 2), (0, 0)), ((2, 1), (2, 2)), ((1, 1), (1, 1))]
)
def test_the_coefficient_is_the_slope_of_the_free_energy(k, h):
    """Z(n) = n^-value (C (log n)^(m - 1) + ...): -d log Z / d log n = value - (m - 1)/(log n + c).

    Z is integrated over [0, 1]^2; the unknown c cancels between decades.
    """
    (x, a), (y, b) = (nodes(0.0, 1.0, [0.0], levels=60, order=10) for _ in range(2))
    loss = x[:, None] ** (2 * k[0]) * y ** (2 * k[1])
    weight = a[:, None] * b * x[:, None] ** h[0] * y ** h[1]

    def energy(n):
        return -np.log((np.exp(-n * loss) * weight).sum())

    truth = monomial([2 * power for power in k], h)
    at = [1e10, 1e11, 1e12]
    gap = float(truth.value) - np.diff([energy(n) for n in at]) / np.log(10)
    if truth.multiplicity == 1:
        assert np.abs(gap).max() < 2e-3
    else:
        assert np.diff(1 / gap)[0] == pytest.approx(np.log(10) / (truth.multiplicity - 1), rel=0.03)


def test_sums_add():
    two, four = monomial([2]), monomial([4])
    assert separable_sum([two, four, four]) == (Fraction(1), 1)
    assert separable_sum([monomial([2, 2]), monomial([4, 4])]) == (Fraction(3, 4), 3)


@pytest.mark.parametrize(("powers", "density"), [([3], None), ([0, 0], None), ([2, 2], [1]), ([-2], None)])
def test_what_is_no_loss_is_refused(powers, density):
    with pytest.raises(ValueError, match=r"even|positive"):
        monomial(powers, density)
