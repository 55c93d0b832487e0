"""Findings out of labelled arrays."""

import math

import numpy as np
import pytest
import xarray as xr

from rllc.figures.drawing import Finding, rounded
from rllc.figures.findings import (
    WORDS,
    at_end,
    by_seed,
    fitting,
    known,
    largest,
    last,
    near_end,
    over_seeds,
    percent,
)

NAN = np.nan


def of(*values, seeds=None):
    return xr.DataArray([*values], {"seed": seeds or [*range(len(values))]}, ["seed"])


def test_over_seeds_of_one_seed_has_its_value_and_error():
    assert over_seeds("x", of(2.0), of(0.3), "%") == [Finding("x", 2.0, 0.3, "%")]
    (found,) = over_seeds("x", of(2.0))
    assert found.label == "x" and math.isnan(found.error)


def test_over_seeds_of_a_value_without_the_dim_is_that_value():
    assert over_seeds("x", of(2.0, 3.0).sel(seed=1), of(0.3, 0.4).sel(seed=1)) == [Finding("x", 3.0, 0.4)]


def test_over_seeds_of_several_has_their_mean_and_deviation_and_says_so():
    (found,) = over_seeds("x", of(1.0, 2.0, 6.0), of(0.1, 0.1, 0.1))
    assert (found.value, found.error) == (3.0, pytest.approx(np.std([1, 2, 6], ddof=1)))
    assert found.label.startswith("x") and "3 seeds" in found.label


def test_over_seeds_leaves_out_seeds_without_a_value():
    (found,) = over_seeds("x", of(1.0, NAN, 5.0))
    assert found.value == 3.0 and "2 seeds" in found.label
    (found,) = over_seeds("x", of(NAN, 5.0, seeds=[3, 7]), of(0.1, 0.2, seeds=[3, 7]))
    assert found == Finding("x (seed 7)", 5.0, 0.2)


@pytest.mark.parametrize("values", [of(NAN), of(NAN, NAN), of(NAN).sel(seed=0)])
def test_over_seeds_without_any_value_gives_no_finding(values):
    assert over_seeds("x", values, values) == []


def test_last_is_the_last_known_value_over_steps():
    values = xr.DataArray([[1.0, 2.0, NAN], [3.0, 4.0, 5.0], [NAN] * 3], dims=("seed", "step"))
    np.testing.assert_array_equal(last(values.assign_coords(step=[0, 1, 10])), [2.0, 5.0, NAN])


def test_percent_of_a_share():
    assert percent(0.25) == 25.0
    np.testing.assert_array_equal(percent(of(0.5, NAN)), [50.0, NAN])


def test_by_seed_reads_each_seed_with_and_without_the_dim():
    dataset = xr.Dataset({"a": of(1.0, 2.0, seeds=[3, 7])})
    made = by_seed(dataset, lambda one: 2 * float(one["a"]))
    assert made["seed"].values.tolist() == [3, 7] and made.values.tolist() == [2.0, 4.0]
    alone = by_seed(dataset.sel(seed=7), lambda one: float(one["a"]))
    assert alone.dims == ("seed",) and alone["seed"].values.tolist() == [7] and alone.item() == 2.0


def curves(*rows):
    return xr.DataArray(list(rows), {"seed": list(range(len(rows))), "step": [0, 10, 200]}, ["seed", "step"])


def test_at_end_names_the_step_and_has_the_error_of_that_step():
    values, errors = curves([1.0, 2.0, np.nan]), curves([0.1, 0.2, 0.3])
    assert at_end("x", values, errors) == [Finding("x at step 10", 2.0, 0.2)]
    (none,) = at_end("x", values, curves([0.1, np.nan, 0.3]))
    assert not np.isfinite(none.error)
    (both,) = at_end("x", curves([1.0, 2.0, np.nan], [1.0, 2.0, 4.0]))
    assert both.label.startswith("x at the last step") and both.value == 3.0
    assert at_end("x", curves([np.nan] * 3)) == []


def test_largest_has_the_error_of_its_step_and_leaves_out_missing_values():
    values, errors = curves([1.0, 5.0, np.nan]), curves([0.1, 0.2, 9.0])
    height, step = largest("x", values, errors)
    assert (height.value, height.error) == (5.0, 0.2)
    assert (step.value, step.unit) == (10, "steps")
    height, step = largest("x", curves([1.0, 5.0, np.nan], [1.0, 2.0, 7.0]))
    assert (height.value, step.value) == (6.0, 105.0)
    assert largest("x", curves([np.nan] * 3)) == []


def test_known_leaves_out_findings_without_a_value_and_those_after_the_eighth():
    every = [Finding(str(n), n if n else np.nan) for n in range(12)]
    assert [each.value for each in known(every)] == list(range(1, 9))


def test_fitting_keeps_findings_in_order_while_the_caption_has_room():
    every = [Finding("one two three", 1.0)] * 8  # five words each, with the dash before it
    assert len(fitting(every, "title", [])) == 8
    assert len(fitting(every, "title", ["word " * (WORDS - 1 - 15)])) == 3
    assert len(fitting(every, "title", ["word " * (WORDS - 1 - 14)])) == 2


def test_rounded_ignores_errors_that_are_rounding_of_the_computer():
    assert rounded(0.9000000000000001, 3e-16) == "0.9"


def test_near_the_end_is_the_mean_of_four_checkpoints_with_their_noise():
    values = xr.DataArray([9.0, 6.14, 5.53, 4.91, 6.21], {"step": [0, 1, 2, 3, 4]}, ["step"])
    noise = np.std([6.14, 5.53, 4.91, 6.21], ddof=1) / 2
    (found,) = near_end("loss", values, unit="nats")
    assert found.label == "loss, mean of the last 4 checkpoints" and found.unit == "nats"
    assert (found.value, found.error) == (pytest.approx(5.6975), pytest.approx(noise))
    (found,) = near_end("loss", values, xr.full_like(values, 0.4))
    assert found.error == pytest.approx(np.hypot(noise, 0.4))


def test_near_the_end_of_several_seeds_has_mean_and_deviation():
    values = xr.DataArray(
        [[1.0, 2, 3, 4, 5], [NAN, 2, 3, 4, 5], [6.0, 6, 6, 6, NAN]],
        {"seed": [0, 1, 2], "step": [*range(5)]},
        ["seed", "step"],
    )
    (found,) = near_end("loss", values)
    assert found.value == pytest.approx((3.5 + 3.5 + 6) / 3)
    assert "mean of the last 4 checkpoints, mean and sd of 3 seeds" in found.label


def test_near_the_end_with_few_checkpoints_is_the_last_one():
    values = xr.DataArray([3.0, 2.0], {"step": [0, 60]}, ["step"])
    assert near_end("loss", values) == at_end("loss", values)
