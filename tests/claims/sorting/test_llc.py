"""LLCs of sorting: values by hand on a small run."""

import numpy as np
import pytest
from tests.claims.sorting.small import CLAIMS, LLC, datasets, llc, run

from rllc.analysis.curves import NotJudged
from rllc.claims.experiment import Experiment
from rllc.claims.judge import judge
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


RISING = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
PEAKS = [llc_claims.llc_peak_seen, llc_claims.llc_peak_step_single]


@pytest.mark.parametrize("function", PEAKS)
def test_an_llc_that_still_rises_at_the_end_of_a_short_training_has_no_peak(function):
    rising = {"llc": llc(RISING, error=1.0)}
    with pytest.raises(NotJudged, match="no peak is seen"):
        function(run(rising))
    assert float(function(run(rising, length=60_000))) in (6000, 8000)  # as long as the post's


def test_fall_that_is_not_seen_in_a_short_training_says_so():
    """No fall is 0 only for claims that the LLC does not fall."""
    rising = {"llc": llc(RISING, error=1.0)}
    with pytest.raises(NotJudged, match="no peak is seen"):
        llc_claims.llc_fall_seen(run(rising))
    assert float(llc_claims.llc_fall(run(rising))) == 0
    assert float(llc_claims.llc_fall_seen(run(rising, length=60_000))) == 0  # as long as the post's
    fallen = {"llc": llc(LLC)}
    assert float(llc_claims.llc_fall_seen(run(fallen))) == float(llc_claims.llc_fall(run(fallen)))
    reading = {each.name for each in CLAIMS if each.statistic.function is llc_claims.llc_fall}
    assert reading == {"no_fall_noise", "no_fall_cumsum"}


@pytest.mark.parametrize("function", PEAKS)
def test_a_peak_that_redraws_move_to_the_end_still_has_an_error(function):
    """Means over three: 90 around step 4,000 and 87 at the end; single checkpoints: 91 at 4,000."""
    found = evaluate(function.statistic, run({"llc": llc([0, 1, 1, 1, 1, 1, 90, 91, 89, 81], error=30.0)}))
    assert found.value == 4000
    assert found.error > 0


@pytest.mark.parametrize(("two", "verdict"), [(RISING, "undecided"), (LLC, "holds")])
def test_a_weaker_fall_than_no_fall_is_undecided(two, verdict):
    experiments = {
        name: Experiment(name, "sorting", text="lists", steps=8000)
        for name in ("sort_1head", "sort_2head_baseline")
    }
    own = {"sort_1head": {"llc": llc(RISING)}, "sort_2head_baseline": {"llc": llc(two)}}
    chosen = [each for each in CLAIMS if each.name in ("fall_weaker_1head", "fall_2heads")]
    found = judge(chosen, experiments, own).sel(claim="fall_weaker_1head")
    assert found["verdict"].item() == verdict
    assert ("presupposes fall_2heads" in found["reason"].item()) == (verdict == "undecided")
