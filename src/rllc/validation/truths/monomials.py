"""Learning coefficients: their definition, the coefficients of monomials, and their combination.

Every analytic loss is a monomial in suitable coordinates (Hironaka; Watanabe 2009, ch. 2 and 3), so this is
the general case. Other modules give the coefficients of whole model families.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple


class Coefficient(NamedTuple):
    """The real log canonical threshold of a loss and its multiplicity (Watanabe 2009).

    The volume of {loss < e} around the singularity is of order e^value (-log e)^(multiplicity - 1), so at
    large n_beta, with c the strength of the prior there::

        n_beta E[loss] = value - (multiplicity - 1) / log(n_beta) + ...
    """

    value: Fraction
    multiplicity: int


def monomial(powers: Sequence[int], density: Sequence[int] | None = None) -> Coefficient:
    """Return the coefficient of prod_i w_i^(powers_i) at 0, with the prior density prod_i |w_i|^(density_i).

    value = min over i with powers_i > 0 of (density_i + 1) / powers_i; multiplicity = number of i that attain
    it. The square (prod w_i^k_i)^2 has powers 2 k_i. A frozen coordinate is left out.

    Raises ValueError where no coordinate has a positive power, or the loss would change sign (odd power).
    """
    density = [0] * len(powers) if density is None else density
    if len(density) != len(powers) or any(power < 0 or power % 2 for power in powers):
        raise ValueError(f"powers {powers} must be even and >= 0, with one density power each, got {density}")
    ratios = [Fraction(h + 1, power) for power, h in zip(powers, density, strict=True) if power]
    if not ratios:
        raise ValueError(f"powers {list(powers)}: at least one must be positive")
    return Coefficient(min(ratios), ratios.count(min(ratios)))


def separable_sum(parts: Iterable[Coefficient]) -> Coefficient:
    """Return the coefficient of a sum of losses in different coordinates.

    Values add up, and so do multiplicities minus one.

    n_beta E[sum] = sum of n_beta E[part], since the posterior is a product (Watanabe 2009, sec. 7.1).
    """
    parts = list(parts)
    multiplicity = 1 + sum(part.multiplicity - 1 for part in parts)
    return Coefficient(sum((part.value for part in parts), Fraction(0)), multiplicity)
