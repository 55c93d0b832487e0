"""What an exact theory says of a singularity: the learning coefficient and its multiplicity."""

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
