"""Translational symmetry: values by hand on a small run."""

import pytest
from tests.claims.sorting.small import datasets, run

from rllc.claims.sorting import symmetry


@pytest.mark.parametrize(
    ("function", "variable", "curve", "expected"),
    [
        # Steps 0 and 75 are left out: of 8 ranks the first two are exchanged, so 1 - 6 * 2 / (8 * 63).
        (symmetry.symmetry_growth, "translational_symmetry", [9, 8, 2, 1, 3, 4, 5, 6, 7, 8], 1 - 12 / 504),
        (symmetry.symmetry_peak, "translational_symmetry", [9, 8, 2, 1, 3, 4, 5, 6, 7, 6], 7),
        (symmetry.final_symmetry, "translational_symmetry", [9, 8, 2, 1, 3, 4, 5, 6, 7, 6], 6),
        (symmetry.symmetry_common, "translational_symmetry", [9, 8, 2, 1, 3, 4, 5, 6, 7, 8], 6),
    ],
)
def test_number_of_circuits_is_that_by_hand(function, variable, curve, expected):
    data = datasets(**{variable: curve})
    assert float(function(run(data))) == pytest.approx(expected, rel=1e-12)
