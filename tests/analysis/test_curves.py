import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllc.analysis.curves import PEAK_FROM, PEAK_WINDOW, Curve, before_peak, fall, near_peak, smooth
from rllc.analysis.functions import STATISTICS

STEP = np.array([0, 1, 3, 7, 15, 31, 63])
RISE_AND_FALL = Curve(STEP, np.array([1.0, 2, 5, 10, 4, 6, 8]))
FALLING = Curve(STEP, np.array([7.0, 6, 5, 4, 3, 2, 1]))
CONSTANT = Curve(STEP, np.full(7, 3.0))
# apart by 1 on the whole, with errors of 3 and 4, so 5 of a difference
UNSURE = Curve(STEP, FALLING.value, np.full(7, 3.0))
SURE = Curve(STEP, FALLING.value + np.array([4, -2, 1, 1, 1, 1, 1]), np.full(7, 4.0))
NAN = float("nan")


TRUTHS = [
    ("peak_step", {}, RISE_AND_FALL, 7),
    ("peak_step", {}, CONSTANT, 0),
    ("maximum", {}, RISE_AND_FALL, 10),
    ("last", {}, RISE_AND_FALL, 8),
    ("fall", {}, RISE_AND_FALL, 0.2),
    ("fall", {}, CONSTANT, 0),
    ("fall", {}, Curve(STEP, -RISE_AND_FALL.value), NAN),
    ("fall", {}, Curve(STEP[:2], np.array([0.0, -1])), NAN),
    ("fall_to_minimum", {}, RISE_AND_FALL, 0.6),
    ("fall_to_minimum", {}, Curve(STEP, RISE_AND_FALL.value[::-1]), 0.9),
    ("value_at", {"step": 4}, RISE_AND_FALL, 10),
    ("value_at", {"step": 7}, RISE_AND_FALL, 10),
    ("value_at", {"step": 63}, RISE_AND_FALL, 8),
    ("value_at", {"step": 64}, RISE_AND_FALL, NAN),
    ("first_step_reaching", {"threshold": 5}, RISE_AND_FALL, 3),
    ("first_step_reaching", {"threshold": 10.5}, RISE_AND_FALL, NAN),
    ("minimum_step", {}, FALLING, 63),
    ("minimum_step", {}, CONSTANT, 0),
    ("minimum", {}, RISE_AND_FALL, 1),
    ("rise", {}, Curve(STEP, RISE_AND_FALL.value[::-1]), 0),
    ("rise", {}, RISE_AND_FALL, 7),
    ("change", {"step": 4, "until": 31}, RISE_AND_FALL, -4),
    ("change", {"step": 4, "until": 64}, RISE_AND_FALL, NAN),
    ("ratio_at", {"step": 1, "until": 7}, RISE_AND_FALL, 5),
    ("ratio_at", {"step": 1, "until": 7}, Curve(STEP, np.zeros(7)), NAN),
    ("log2_ratio", {"step": 4, "until": 15}, RISE_AND_FALL, np.log2(0.4)),
    ("log2_ratio", {"step": 4, "until": 64}, RISE_AND_FALL, NAN),
    ("log2_ratio", {"step": 0, "until": 7}, Curve(STEP, -FALLING.value), NAN),
    ("log2_gain", {"step": 3}, RISE_AND_FALL, np.log2(3)),
    ("log2_gain", {"step": -1}, RISE_AND_FALL, NAN),
    ("log2_gain", {"step": 3}, Curve(STEP, -FALLING.value), NAN),
    ("count_reaching", {"threshold": 6}, RISE_AND_FALL, 3),
    ("count_reaching", {"threshold": 10.5}, RISE_AND_FALL, 0),
    ("places_reaching", {"threshold": 6, "places": [5, 50, 200], "factor": 2.0}, RISE_AND_FALL, 2),
    ("correlation", {"against": FALLING}, FALLING, 1),
    ("correlation", {"against": Curve(STEP[1:], -FALLING.value[1:])}, FALLING, -1),
    ("correlation", {"against": Curve(STEP[:2], FALLING.value[:2])}, FALLING, NAN),
    ("correlation", {"against": CONSTANT}, FALLING, NAN),
    ("growth", {}, FALLING, -1),
    ("growth", {}, Curve(STEP, np.exp(STEP / 9.0)), 1),
    ("growth", {}, CONSTANT, NAN),
    ("relative_range", {}, FALLING, 1.5),
    ("relative_range", {}, CONSTANT, 0),
    ("relative_range", {}, Curve(STEP, -FALLING.value), 1.5),
    ("relative_range", {}, Curve(STEP[:2], np.array([-1.0, 1])), NAN),
    ("growth", {}, Curve(STEP[:2], np.array([-1.0, 1])), NAN),
    ("growth", {}, Curve(STEP[:3], np.array([-1.0, 0, 1])), 1),
    ("mean", {}, FALLING, 4),
    ("mean", {}, Curve(STEP[:0], FALLING.value[:0]), NAN),
    ("largest_change", {"against": CONSTANT}, RISE_AND_FALL, 7 / 3),
    ("largest_change", {"against": CONSTANT}, Curve(STEP[:2], RISE_AND_FALL.value[:2]), 2 / 3),
    ("largest_change", {"against": Curve(STEP, np.zeros(7))}, FALLING, NAN),
    ("largest_change", {"against": Curve(STEP + 100, FALLING.value)}, FALLING, NAN),
    ("difference_in_errors", {"against": SURE}, UNSURE, 1 / 5),
    ("difference_in_errors", {"against": UNSURE}, SURE, 1 / 5),
    ("difference_in_errors", {"against": FALLING}, UNSURE, NAN),
    ("difference_in_errors", {"against": UNSURE}, FALLING, NAN),
    ("difference_in_errors", {"against": SURE._replace(step=STEP + 100)}, UNSURE, NAN),
    ("last_difference", {"against": RISE_AND_FALL}, FALLING, -7),
    ("last_difference", {"against": Curve(STEP[:0], FALLING.value[:0])}, FALLING, NAN),
    ("climb", {}, RISE_AND_FALL, 9),
    ("climb", {}, FALLING, 0),
    ("kept_of_minimum", {}, Curve(STEP, -RISE_AND_FALL.value), 0.8),
    ("kept_of_minimum", {}, FALLING, NAN),
    ("minimum_ratio", {"against": CONSTANT}, FALLING, 1 / 3),
    ("rank_correlation", {"against": Curve(STEP, np.exp(FALLING.value))}, FALLING, 1),
    ("rank_correlation", {"against": Curve(STEP[3:], -FALLING.value[3:])}, FALLING, -1),
    ("rank_correlation", {"against": FALLING}, RISE_AND_FALL, -5 / 7),
    ("rank_correlation", {"against": Curve(STEP[:2], FALLING.value[:2])}, FALLING, NAN),
    ("rank_correlation", {"against": CONSTANT}, FALLING, NAN),
    ("mean_ratio", {"against": CONSTANT}, FALLING, 4 / 3),
    ("mean_ratio", {"against": Curve(STEP[5:], np.array([4.0, 2]))}, FALLING, 0.5),
    ("mean_ratio", {"against": Curve(STEP + 100, FALLING.value)}, FALLING, NAN),
    ("mean_ratio", {"against": Curve(STEP, CONSTANT.value - 3)}, FALLING, NAN),
    ("share_within", {"against": FALLING, "threshold": 1.0}, RISE_AND_FALL, 3 / 7),
    ("share_within", {"against": CONSTANT, "threshold": 2.0}, FALLING, 6 / 7),
    ("share_within", {"against": Curve(STEP + 100, FALLING.value), "threshold": 1.0}, FALLING, NAN),
    ("minimum_ratio", {"against": Curve(STEP, CONSTANT.value - 3)}, FALLING, NAN),
    ("step_lead", {"against": RISE_AND_FALL}, RISE_AND_FALL, 0),
    ("step_lead", {"against": RISE_AND_FALL}, FALLING, 3),
    ("step_lead", {"against": FALLING}, RISE_AND_FALL, -3),
    ("mean_departure", {}, RISE_AND_FALL, 29 / 7),
    ("mean_departure", {}, Curve(STEP[:2], np.array([0.5, 2])), 0.75),
    ("roughness", {}, RISE_AND_FALL, np.sqrt((2**2 + 2**2 + 11**2 + 8**2 + 0) / 5) / 9),
    ("roughness", {}, FALLING, 0),
    ("roughness", {}, CONSTANT, NAN),
    ("roughness", {}, Curve(STEP[:2], FALLING.value[:2]), NAN),
    (
        "roughness_ratio",
        {"against": Curve(STEP[2:], np.array([0.0, 1, 0, 1, 0]))},
        RISE_AND_FALL,
        np.sqrt((11**2 + 8**2 + 0) / 3) / 6 / 2,
    ),
    ("roughness_ratio", {"against": FALLING}, RISE_AND_FALL, NAN),
    ("last_ratio", {"against": Curve(STEP[:4], FALLING.value[:4])}, RISE_AND_FALL, 2.5),
    ("last_ratio", {"against": Curve(STEP, CONSTANT.value - 3)}, FALLING, NAN),
    ("last_ratio", {"against": Curve(STEP + 100, FALLING.value)}, FALLING, NAN),
]


def test_each_statistic_is_in_the_truth_table():
    assert {name for name, *_ in TRUTHS} == set(STATISTICS)


@pytest.mark.parametrize(("name", "options", "curve", "expected"), TRUTHS)
def test_truth_table(name, options, curve, expected):
    assert STATISTICS[name](curve, **options) == pytest.approx(expected, nan_ok=True)


values = st.lists(st.floats(0.1, 100), min_size=7, max_size=7).map(np.array)


@given(values, st.sampled_from([0.125, 0.5, 4.0]))  # powers of two: ties stay ties
def test_scale_invariance(value, scale):
    one, other = Curve(STEP, value), Curve(STEP, scale * value)
    for name in ("peak_step", "fall", "fall_to_minimum", "relative_range"):
        assert STATISTICS[name](other) == pytest.approx(STATISTICS[name](one), abs=1e-9)


@given(values)
def test_falls_are_ordered(value):
    curve = Curve(STEP, value)
    assert 0 <= STATISTICS["fall"](curve) <= STATISTICS["fall_to_minimum"](curve) < 1


def test_means_over_three_rarely_see_a_fall_in_a_plateau():
    """What docs/sorting.md says of falls: by single checkpoints, half of all noisy plateaus fall by 5 %."""
    step = np.array([75, 200, 400, 700, 1200, 2000, 4000, 8000])
    rise, random = np.array([0.1, 0.3, 0.6, 1, 1, 1, 1, 1]), np.random.default_rng(0)

    def share(window, truth):
        noisy = truth * random.normal(1, 0.05, (4000, step.size))
        return np.mean([fall(smooth(Curve(step, row), window)) >= 0.05 for row in noisy])

    falls_at_the_end = rise * np.where(step == 8000, 0.85, 1)
    assert [round(share(window, rise), 1) for window in (1, 3)] == [0.5, 0.1]
    assert [round(share(window, falls_at_the_end), 1) for window in (1, 3)] == [1.0, 0.6]


@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 7])
def test_running_mean_by_a_loop(window):
    """At the middle checkpoint, of an even number the later of the two."""
    got, starts = smooth(RISE_AND_FALL, window), range(8 - window)
    assert got.step.tolist() == [STEP[start + window // 2] for start in starts]
    expected = [RISE_AND_FALL.value[start : start + window].mean() for start in starts]
    np.testing.assert_allclose(got.value, expected)


def test_the_means_of_which_one_is_the_largest_llc_begin_with_the_step_at_its_limit():
    step = PEAK_FROM + np.arange(-2, PEAK_WINDOW)
    every = Curve(step, np.arange(step.size) ** 2.0)
    assert before_peak(Curve(*(part[:-1] for part in every[:2]))) is None
    (only,), (mean,) = before_peak(every)[:2]
    assert only == step[2 + PEAK_WINDOW // 2]
    assert mean == pytest.approx(every.value[2:].mean())


def test_what_is_near_the_largest_is_within_the_error_of_the_difference():
    """Errors of 3 and 4 make 5: what lies 5 below the largest is near it, what lies 5.1 below is not."""
    value, error = np.array([4.9, 10.0, 5.0, 0.0]), np.array([4.0, 3.0, 4.0, np.nan])
    assert near_peak(Curve(STEP[:4], value, error)).tolist() == [False, True, True, False]
    assert near_peak(Curve(STEP[:4], value)).tolist() == [False, True, False, False]
    assert near_peak(Curve(STEP[:2], np.array([1.0, 0.0]), np.full(2, NAN))).tolist() == [True, False]
