"""Findings out of labelled arrays."""

import numpy as np
import pytest
import xarray as xr

from rllc.figures.drawing import Finding, rounded
from rllc.figures.findings import WORDS, at_end, fitting, known, largest, last, over_seeds

STEPS = [0, 10, 200]


def curves(*rows):
    return xr.DataArray(list(rows), {"seed": list(range(len(rows))), "step": STEPS}, ["seed", "step"])


def test_over_seeds_is_the_value_of_one_seed_with_its_error_else_mean_and_sd():
    (one,) = over_seeds("x", xr.DataArray([3.0], {"seed": [2]}, ["seed"]), xr.DataArray(0.5))
    assert (one.label, one.value, one.error) == ("x", 3.0, 0.5)
    (both,) = over_seeds("x", xr.DataArray([3.0, 5.0], {"seed": [0, 1]}, ["seed"]))
    assert (both.value, both.error) == (4.0, pytest.approx(2**0.5))
    (alone,) = over_seeds("x", xr.DataArray([np.nan, 5.0], {"seed": [0, 1]}, ["seed"]))
    assert (alone.label, alone.value) == ("x (seed 1)", 5.0)
    assert over_seeds("x", xr.DataArray([np.nan], {"seed": [0]}, ["seed"])) == []


def test_last_is_the_last_known_value_of_each_curve():
    found = last(curves([1.0, 2.0, np.nan], [1.0, np.nan, 3.0], [np.nan] * 3))
    np.testing.assert_array_equal(found, [2.0, 3.0, np.nan])


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
