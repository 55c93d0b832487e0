"""The model without layer norm: values by hand on a small run of the post's length."""

import numpy as np
import pytest
from tests.claims.sorting.small import CLAIMS, LENGTHY, datasets, llc, run

from rllc.analysis.curves import NotJudged
from rllc.claims.sorting import without_layer_norm as claims


@pytest.mark.parametrize(
    ("function", "variable", "curve", "expected"),
    [
        # Steps 0, 75, 400, 4,000, 30,000, 60,000, 100,000: the peak of the post is read at step 30,000.
        (claims.overlap_fall_after_peak, "head_overlap", [9, 9, 9, 9, 0.8, 0.6, 0], 0.25),
        (claims.overlap_at_60k, "head_overlap", [9, 9, 9, 9, 0.8, 0.6, 0], 0.6),
        # Step 200 is read at 400.
        (claims.rank_fall_early, "rank_sum", [100, 90, 40, 30, 30, 30, 30], 0.6),
        (claims.rank_rise_at_peak, "rank_sum", [100, 90, 40, 30, 40, 42, 90], 0.05),
    ],
)
def test_number_of_circuits_is_that_by_hand(function, variable, curve, expected):
    data = datasets(LENGTHY, **{variable: curve})
    assert float(function(run(data, length=100_000))) == pytest.approx(expected, rel=1e-12)


def test_symmetry_counts_between_the_peak_and_the_end_of_the_fall():
    steps = [0, 4000, 27000, 36000, 45000, 60000, 100000]
    data = datasets(steps, translational_symmetry=[9, 8, 1, 2, 4, 3, 0])
    assert float(claims.symmetry_growth_after_peak(run(data, length=100_000))) == pytest.approx(0.8)


def test_fall_of_the_llc_ends_at_step_60000():
    """Means over three: 2, 4, 6, 5, and without the end 5. The post's fall ends at 60,000."""
    steps = [0, 75, 400, 4000, 20000, 27000, 60000, 100000]
    curve = llc([900, 0, 3, 3, 6, 9, 0, 30], steps=steps)
    found = claims.llc_fall_to_60k(run({"llc": curve}, length=100_000))
    assert float(found) == pytest.approx(1 - 5 / 6)


def test_short_training_has_no_number_of_a_later_step():
    data = datasets(head_overlap=np.ones(10), rank_sum=np.ones(10))
    for function in (claims.overlap_at_60k, claims.rank_rise_at_peak):
        with pytest.raises(NotJudged, match=r"before (60|36),000"):
            function(run(data))


def test_the_posts_seven_statements_are_claims():
    about = {each.name for each in CLAIMS if each.experiment == "sort_2head_noLN"}
    assert about == {
        "accuracy_noLN", "peak_noLN", "fall_noLN", "symmetry_level_noLN", "symmetry_grows_noLN", "overlap_noLN",
        "overlap_level_noLN", "rank_falls_noLN", "rank_rises_noLN",
    }  # fmt: skip
