"""LLCs of sorting: values by hand on a small run."""

import numpy as np
import pytest
from tests.claims.sorting.small import LLC, datasets, llc, run

from rllc.analysis.curves import NotJudged
from rllc.claims.judging.evaluate import evaluate
from rllc.claims.selection import Absent
from rllc.claims.sorting import llc as llc_claims


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (llc_claims.llc_peak_step, 1200),
        (llc_claims.llc_peak_step_single, 1200),
        (llc_claims.llc_peak, 95),
        (llc_claims.llc_fall, 1 - (60 + 50 + 80) / 285),
        (llc_claims.llc_fall_common, 1 - (100 + 95 + 80) / 285),
        (llc_claims.llc_fall_to_minimum, 1 - (60 + 50 + 80) / 285),
        (llc_claims.llc_fall_single, 0.5),
    ],
)
def test_number_of_llc_is_that_by_hand(function, expected):
    assert float(function(run({"llc": llc(LLC), **datasets()}))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("setting", ["post", "coarse", "long", "scaled"])
def test_fall_at_another_setting_reads_that_dataset_alone(setting):
    function = getattr(llc_claims, f"llc_fall_{setting}")
    assert (
        float(function(run({"llc": llc(LLC), f"llc.{setting}": llc([7, 1, 2, 3, 4, 5, 6, 8, 7, 6])}))) == 0.25
    )
    with pytest.raises(Absent, match=setting):
        function(run({"llc": llc(LLC)}))


def test_a_fall_that_is_made_good_shows_to_its_minimum_alone():
    curve = llc([0, 10, 10, 10, 40, 40, 40, 10, 10, 400])
    assert float(llc_claims.llc_fall_to_minimum(run({"llc": curve}))) == 0.0  # the largest mean is the last
    curve = llc([0, 10, 10, 10, 40, 40, 40, 10, 10, 40])
    assert float(llc_claims.llc_fall_to_minimum(run({"llc": curve}))) == 0.5
    assert float(llc_claims.llc_fall(run({"llc": curve}))) == 0.5
    curve = llc([0, 10, 40, 40, 40, 10, 10, 10, 40, 40])
    assert float(llc_claims.llc_fall_to_minimum(run({"llc": curve}))) == 0.75
    assert float(llc_claims.llc_fall(run({"llc": curve}))) == 0.25


@pytest.mark.parametrize("task", ["language", "regression"])
def test_other_models_have_no_llc_of_the_post(task):
    with pytest.raises(Absent, match=task):
        llc_claims.llc_fall(run({"llc": llc(LLC)}, task=task))


def test_a_fall_without_the_last_estimate_is_not_judged():
    """The last mean would be of earlier checkpoints; one that is missing in between is left out."""
    with pytest.raises(NotJudged, match="8,000"):
        llc_claims.llc_fall(run({"llc": llc([*LLC[:-1], np.nan])}))
    assert float(llc_claims.llc_fall_common(run({"llc": llc([*LLC[:-1], np.nan])}))) == pytest.approx(
        1 - 275 / 285
    )
    without = llc([*LLC[:5], np.nan, *LLC[6:]])  # means 17.3, 46.7, 75, 88.3, 78.3, 63.3
    assert float(llc_claims.llc_fall(run({"llc": without}))) == pytest.approx(1 - 190 / 265)


def test_the_error_of_a_fall_is_that_of_means_over_three():
    """Of far apart means: fall = 1 - b/a, with errors of 3/sqrt(3) of each."""
    curve = llc([0, 1, 1, 300, 300, 300, 1, 150, 150, 150], error=3.0)
    found = evaluate(llc_claims.llc_fall.statistic, run({"llc": curve}))
    assert found.value == 0.5
    assert found.error == pytest.approx(np.hypot(1, 0.5) * 3 / np.sqrt(3) / 300, rel=0.1)


def test_a_peak_at_400_is_read_at_400_by_single_checkpoints_alone():
    """Means over three: 60 around step 400, 83 around step 700."""
    curve = llc([0, 10, 20, 100, 60, 90, 20, 20, 20, 20])
    assert float(llc_claims.llc_peak_step_single(run({"llc": curve}))) == 400
    assert float(llc_claims.llc_peak_step(run({"llc": curve}))) == 700
