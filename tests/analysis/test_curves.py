"""Numbers read off curves, against a table of truths."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from rllc.analysis import curves
from rllc.analysis.curves import (
    LAST_STEP,
    PEAK_FROM,
    PEAK_WINDOW,
    NotJudged,
    fall,
    largest_means,
    last,
    roughness,
    smooth,
    smooth_error,
)

NAN = float("nan")
STEP = np.array([0, 1, 3, 7, 15, 31, 63])


def curve(values, step=None):
    values = np.asarray(values, dtype=float)
    return xr.DataArray(
        values, {"step": STEP[: values.size] if step is None else step}, ["step"], name="llc.llc"
    )


RISE_AND_FALL = curve([1, 2, 5, 10, 4, 6, 8])
FALLING = curve([7, 6, 5, 4, 3, 2, 1])
CONSTANT = curve(np.full(7, 3.0))
REASON = "a reason"  # there is no number: NotJudged

TRUTHS = [
    ("peak_step", (), RISE_AND_FALL, 7),
    ("peak_step", (), CONSTANT, 0),
    ("maximum", (), RISE_AND_FALL, 10),
    ("minimum", (), RISE_AND_FALL, 1),
    ("minimum_step", (), FALLING, 63),
    ("minimum_step", (), CONSTANT, 0),
    ("last", (), RISE_AND_FALL, 8),
    ("last", (), RISE_AND_FALL[:0], REASON),
    ("fall", (), RISE_AND_FALL, 0.2),
    ("fall", (), CONSTANT, 0),
    ("fall", (), -RISE_AND_FALL, NAN),
    ("fall", (), curve([0, -1]), NAN),
    ("fall_to_minimum", (), RISE_AND_FALL, 0.6),
    ("fall_to_minimum", (), curve(RISE_AND_FALL.values[::-1]), 0.9),
    ("rise", (), curve(RISE_AND_FALL.values[::-1]), 0),
    ("rise", (), RISE_AND_FALL, 7),
    ("climb", (), RISE_AND_FALL, 9),
    ("climb", (), FALLING, 0),
    ("kept_of_minimum", (), -RISE_AND_FALL, 0.8),
    ("kept_of_minimum", (), FALLING, NAN),
    ("value_at", (4,), RISE_AND_FALL, 10),
    ("value_at", (7,), RISE_AND_FALL, 10),
    ("value_at", (63,), RISE_AND_FALL, 8),
    ("value_at", (64,), RISE_AND_FALL, REASON),
    ("change", (4, 31), RISE_AND_FALL, -4),
    ("change", (4, 64), RISE_AND_FALL, REASON),
    ("ratio_at", (1, 7), RISE_AND_FALL, 5),
    ("ratio_at", (1, 7), 0 * FALLING, NAN),
    ("log2_ratio", (4, 15), RISE_AND_FALL, np.log2(0.4)),
    ("log2_ratio", (0, 7), -FALLING, NAN),
    ("log2_gain", (3,), RISE_AND_FALL, np.log2(3)),
    ("log2_gain", (-1,), RISE_AND_FALL, REASON),
    ("log2_gain", (3,), -FALLING, NAN),
    ("octaves", (FALLING[2],), RISE_AND_FALL[3], 1),
    ("mean_departure", (), RISE_AND_FALL, 29 / 7),
    ("mean_departure", (), curve([0.5, 2]), 0.75),
    ("roughness", (), RISE_AND_FALL, np.sqrt((2**2 + 2**2 + 11**2 + 8**2 + 0) / 5) / 9),
    ("roughness", (), FALLING, 0),
    ("roughness", (), CONSTANT, NAN),
    ("roughness", (), FALLING[:2], REASON),
    ("count_reaching", (6,), RISE_AND_FALL, 3),
    ("count_reaching", (10.5,), RISE_AND_FALL, 0),
    ("places_reaching", (6, [5, 50, 200], 2.0), RISE_AND_FALL, 2),
    ("first_step_reaching", (5,), RISE_AND_FALL, 3),
    ("first_step_reaching", (10.5,), RISE_AND_FALL, NAN),
    ("growth", (), FALLING, -1),
    ("growth", (), curve(np.exp(STEP / 9.0)), 1),
    ("growth", (), CONSTANT, NAN),
    ("growth", (), curve([-1, 1]), REASON),
    ("growth", (), curve([-1, 0, 1]), 1),
    ("relative_range", (), FALLING, 1.5),
    ("relative_range", (), CONSTANT, 0),
    ("relative_range", (), -FALLING, 1.5),
    ("relative_range", (), curve([-1, 1]), NAN),
    ("step_lead", (RISE_AND_FALL,), RISE_AND_FALL, 0),
    ("step_lead", (RISE_AND_FALL,), FALLING, 3),
    ("step_lead", (FALLING,), RISE_AND_FALL, -3),
    ("pearson", (FALLING,), FALLING, 1),
    ("pearson", (-FALLING[1:],), FALLING, -1),
    ("pearson", (FALLING[:2],), FALLING, REASON),
    ("pearson", (CONSTANT,), FALLING, NAN),
    ("spearman", (np.exp(FALLING),), FALLING, 1),
    ("spearman", (-FALLING[3:],), FALLING, -1),
    ("spearman", (FALLING,), RISE_AND_FALL, -5 / 7),
    ("spearman", (FALLING[:2],), FALLING, REASON),
    ("spearman", (CONSTANT,), FALLING, NAN),
]


@pytest.mark.parametrize(("name", "options", "given_curve", "expected"), TRUTHS)
def test_function_of_a_curve_equals_the_truth_table(name, options, given_curve, expected):
    function = getattr(curves, name)
    if expected == REASON:
        with pytest.raises(NotJudged):
            function(given_curve, *options)
        return
    assert float(function(given_curve, *options)) == pytest.approx(expected, nan_ok=True)
    if "step" in given_curve.dims:  # of several curves at once each has its own number
        several = xr.concat([given_curve, given_curve[::1] * 1.0], "redraw")
        both = function(several, *options)
        np.testing.assert_allclose(np.asarray(both, dtype=float), np.full(2, expected, dtype=float))


def test_last_where_the_last_checkpoint_has_no_value_raises():
    with pytest.raises(NotJudged, match="63"):
        last(RISE_AND_FALL[:5].assign_coords({LAST_STEP: 63}))
    assert float(last(RISE_AND_FALL.assign_coords({LAST_STEP: 63}))) == 8


def test_roughness_of_noise_alone_is_zero_with_its_errors():
    random = np.random.default_rng(0)
    noise = xr.DataArray(random.normal(size=4000), {"step": np.arange(4000)}, ["step"])
    error = xr.ones_like(noise)
    assert float(roughness(noise, 1.1 * error)) == 0
    assert float(roughness(noise)) > 0.1
    smooth_part = 300 * xr.DataArray((-1.0) ** np.arange(4000), noise.coords, noise.dims)
    assert float(roughness(smooth_part + noise, error)) == pytest.approx(
        float(roughness(smooth_part)), rel=0.02
    )


values = st.lists(st.floats(0.1, 100), min_size=7, max_size=7).map(curve)


@given(values, st.sampled_from([0.125, 0.5, 4.0]))  # powers of two: ties stay ties
def test_scale_of_a_curve_changes_no_relative_number(value, scale):
    for name in ("peak_step", "fall", "fall_to_minimum", "relative_range"):
        function = getattr(curves, name)
        assert float(function(scale * value)) == pytest.approx(float(function(value)), abs=1e-9)


@given(values)
def test_fall_to_the_end_is_at_most_the_fall_to_the_minimum(value):
    assert 0 <= float(curves.fall(value)) <= float(curves.fall_to_minimum(value)) < 1


def test_means_over_three_rarely_see_a_fall_in_a_plateau():
    """What docs/sorting.md says of falls: by single checkpoints, half of all noisy plateaus fall by 5 %."""
    step = np.array([75, 200, 400, 700, 1200, 2000, 4000, 8000])
    rise, random = np.array([0.1, 0.3, 0.6, 1, 1, 1, 1, 1]), np.random.default_rng(0)

    def share(window, truth):
        noisy = truth * random.normal(1, 0.05, (4000, step.size))
        return float(
            (fall(smooth(xr.DataArray(noisy, {"step": step}, ["redraw", "step"]), window)) >= 0.05).mean()
        )

    falls_at_the_end = rise * np.where(step == 8000, 0.85, 1)
    assert [round(share(window, rise), 1) for window in (1, 3)] == [0.5, 0.1]
    assert [round(share(window, falls_at_the_end), 1) for window in (1, 3)] == [1.0, 0.6]


@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 7])
def test_smooth_equals_a_loop_of_means(window):
    """At the middle checkpoint, of an even number the later of the two."""
    got, starts = smooth(RISE_AND_FALL, window), range(8 - window)
    assert got["step"].values.tolist() == [STEP[start + window // 2] for start in starts]
    np.testing.assert_allclose(got, [RISE_AND_FALL.values[start : start + window].mean() for start in starts])


def test_smooth_leaves_out_steps_that_are_not_measured_in_full_and_needs_a_window():
    gap = RISE_AND_FALL.where(RISE_AND_FALL["step"] != 7)
    assert smooth(gap, 3)["step"].values.tolist() == [1, 3, 15, 31]
    with pytest.raises(NotJudged, match="2 of 3"):
        smooth(RISE_AND_FALL[:2], 3)


def test_error_of_a_mean_of_independent_values_is_their_root_mean_square_over_the_root_of_their_number():
    got = smooth_error(curve([3, 4, 0, 0, 0, 0, 12]), 2)
    assert float(got[0]) == pytest.approx(2.5) and float(got[-1]) == pytest.approx(6)


def test_largest_means_begin_with_the_step_at_the_limit():
    step = PEAK_FROM + np.arange(-2, PEAK_WINDOW)
    every = curve(np.arange(step.size) ** 2.0, step)
    with pytest.raises(NotJudged):
        largest_means(every[:-1])
    only = largest_means(every)
    assert only["step"].values.tolist() == [step[2 + PEAK_WINDOW // 2]]
    assert float(only[0]) == pytest.approx(every.values[2:].mean())


def test_mean_near_the_end_has_the_noise_of_training():
    losses = curve([9, 9, 9, 6.14, 5.53, 4.91, 6.21])
    mean, error = curves.end_mean(losses)
    assert float(mean) == pytest.approx(5.6975)
    assert float(error) == pytest.approx(np.std([6.14, 5.53, 4.91, 6.21], ddof=1) / 2)
    assert float(curves.end_mean(losses, 2)[0]) == pytest.approx(5.56)


def test_mean_near_the_end_covers_the_level_of_noisy_checkpoints():
    """95 % of Student intervals with 3 degrees of freedom hold the truth, 3."""
    noisy = xr.DataArray(np.random.default_rng(0).normal(3, 0.5, (4000, 7)), {"step": STEP}, ["draw", "step"])
    mean, error = curves.end_mean(noisy)
    assert float((abs(mean - 3) < 3.182 * error).mean()) == pytest.approx(0.95, abs=0.015)


def test_mean_near_the_end_needs_its_checkpoints():
    with pytest.raises(NotJudged, match="4 checkpoints needs 4, has 3"):
        curves.end_mean(curve([1, 2, 3]))
    absent = curve([1, 2, 3, 4, 5]).assign_coords({LAST_STEP: 63})
    with pytest.raises(NotJudged, match="last checkpoint"):
        curves.end_mean(absent)
