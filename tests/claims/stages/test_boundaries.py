"""Boundaries of stages: values by hand on small runs."""

import numpy as np
import pytest
from tests.claims.stages.small import authors_run, boundaries, curves, run

from rllc.claims.selection import Absent
from rllc.claims.stages import boundaries as boundaries_claims


@pytest.mark.parametrize(
    ("function", "marks", "expected"),
    [
        (boundaries_claims.stages, {"any": [1, 3, 5, 9]}, 4),
        # a bump before the paper's first checkpoint, step 100, is no boundary
        (boundaries_claims.stages, {"any": [0, 3, 5, 9]}, 3),
        (boundaries_claims.troughs, {"any": [0, 3], "trough": [0, 3]}, 1),
        (boundaries_claims.published_rule, {"any": [1, 3, 5]}, 3),
        (boundaries_claims.troughs, {"any": [1, 3, 5], "trough": [3]}, 1),
        (boundaries_claims.first_trough, {"any": [1, 3, 6], "trough": [3, 6]}, 900),
        # 100 is near none; 800 and 900 are one place, 21,300 is 1.253 of 17,000
        (boundaries_claims.published_boundaries, {"any": [1, 2, 3, 4, 8]}, 2),
        (boundaries_claims.published_boundaries, {"any": [3, 4, 6, 7]}, 4),
        (boundaries_claims.late_boundaries, {"any": [6, 7, 8, 9]}, 2),
        (boundaries_claims.stages_control, {"any": [1, 3]}, 0),
    ],
)
@pytest.mark.parametrize("setting", ["published", "sampling"])
def test_boundaries_of_the_setting_that_tells_stages_are_counted(function, marks, expected, setting):
    data = boundaries([setting, f"{setting}_prior_only", "other"], **marks)
    assert float(function(run(setting, stages=data))) == expected


def test_boundaries_of_the_control_are_counted():
    data = boundaries(["published_prior_only", "published"], any=[1, 3])
    assert float(boundaries_claims.stages_control(run(stages=data))) == 2


def test_no_trough_is_no_step():
    assert np.isnan(boundaries_claims.first_trough(run(stages=boundaries(["published"], any=[3]))))


def test_change_of_the_llc_in_lm3_is_that_by_hand():
    llc = curves(llc=[0, 0, 0, 0, 0, 9, 7.5, 3, 0, 0])
    assert float(boundaries_claims.llc_change_lm3(run(llc__published=llc))) == pytest.approx(-1.5, rel=1e-12)


def test_number_of_the_authors_own_curve_is_that_which_the_claim_quotes():
    found = boundaries_claims.llc_change_lm3(authors_run("lm2"))
    assert float(found) == pytest.approx(-1.569, abs=5e-4)


@pytest.mark.parametrize(
    ("function", "absent"),
    [
        (boundaries_claims.stages, "stages"),
        (boundaries_claims.llc_change_lm3, "llc.published"),
    ],
)
def test_a_model_without_the_dataset_has_no_claim_about_it(function, absent):
    with pytest.raises(Absent, match=absent):
        function(run())


def test_stages_without_a_control_have_no_claim_about_it():
    with pytest.raises(Absent, match="published_prior_only"):
        boundaries_claims.stages_control(run(stages=boundaries(["published"])))
