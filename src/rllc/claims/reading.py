"""Records of what claims read: each call of ``Run.curve``, its reliability and its redraws."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

REDRAW = "redraw"  # dim of redrawn curves
REDRAWS = 1000  # of a curve, for the standard error of a number read off it: 2 % of error


class Redrawn(NamedTuple):
    """The normal numbers that a reading was redrawn with.

    normals   [redraw, ...]
    freedom   degrees of freedom of each of these
    together  whether they are those of blocks of contexts: the same in all such readings, with one number of
              degrees of freedom for all of them
    """

    normals: np.ndarray
    freedom: np.ndarray
    together: bool = False


@dataclass
class Reading:
    """Record of one call of ``Run.curve``.

    unreliable  share of its estimates that are not reliable; NaN: the curve holds no estimates
    errors      whether the curve has standard errors
    known       whether there is one for every value
    seeded      whether the estimates of all steps share their noise
    controlled  whether the curve has a prior-only control
    last_step   last checkpoint with a value
    redrawn     None: the curve was not redrawn
    """

    variable: str
    unreliable: float
    errors: bool
    known: bool
    seeded: bool
    controlled: bool
    last_step: float
    redrawn: Redrawn | None = None


class Readings(list[Reading]):
    """The curves that one evaluation has read, and whether it has read types of heads.

    by_type  whether its number depends on which heads of a layer have which types
    typed    whether it depends on types at all, as numbers of heads do too
    """

    by_type: bool = False
    typed: bool = False
