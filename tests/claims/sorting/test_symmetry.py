"""Translational symmetry: values by hand on a small run."""

import pytest
from tests.claims.sorting.small import CLAIMS, datasets, run

from rllc.claims.experiment import Experiment
from rllc.claims.judge import judge
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


@pytest.mark.parametrize(
    ("rising", "verdict"),
    [
        ([3, 1, 2, 4, 5, 6], "undecided"),  # 0.829; without one checkpoint 0.7 to 1
        ([1, 2, 3, 4, 5, 6], "holds"),
        ([6, 5, 4, 3, 2, 1], "does not"),
    ],
)
def test_growth_that_one_checkpoint_decides_is_undecided(rising, verdict):
    """Six checkpoints from step 100 on, as in the default study."""
    steps = [0, 75, 200, 400, 700, 1200, 2000, 4000]
    experiment = Experiment("sort_1head", "sorting", text="lists", steps=4000)
    data = datasets(steps, translational_symmetry=[9, 8, *rising])
    chosen = [each for each in CLAIMS if each.name == "symmetry_1head"]
    found = judge(chosen, {"sort_1head": experiment}, {"sort_1head": data})
    assert found["verdict"].item() == verdict
    assert ("interval crosses a bound" in found["reason"].item()) == (verdict == "undecided")
