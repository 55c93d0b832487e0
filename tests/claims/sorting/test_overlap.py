"""Overlap of heads: values by hand on a small run."""

import numpy as np
import pytest
from tests.claims.sorting.small import LLC, datasets, llc, run

from rllc.claims.sorting import overlap


@pytest.mark.parametrize(
    ("function", "variable", "curve", "expected"),
    [
        # Step 0 is left out.
        (overlap.overlap_fall, "head_overlap", [0.9, 0.2, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.3], 0.4),
        (overlap.overlap_common, "head_overlap", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 7),
        (overlap.final_regions, "regions_min3", [8, 7, 6, 5, 5, 5, 5, 5, 5, 4], 4),
        (overlap.final_raw_regions, "regions", [8, 7, 6, 5, 5, 5, 5, 5, 5, 3], 3),
        (overlap.regions_common, "regions_min3", [8, 7, 6, 5, 5, 5, 5, 2, 5, 3], 2),
    ],
)
def test_number_of_circuits_is_that_by_hand(function, variable, curve, expected):
    data = datasets(**{variable: curve})
    assert float(function(run(data))) == pytest.approx(expected, rel=1e-12)


def test_overlap_lead_is_log2_of_the_steps_of_both_largest_means():
    """The overlap's mean over three is largest at step 400, the LLC's at 1,200."""
    curve = [9, 0, 3, 3, 3, 1, 1, 1, 1, 1]
    data = {"llc": llc(LLC), **datasets(head_overlap=curve)}
    assert float(overlap.overlap_lead(run(data))) == pytest.approx(np.log2(1201 / 401))
