"""The LLC against the loss and the control: values by hand on small runs."""

import numpy as np
import pytest
from tests.claims.stages.small import N, authors_run, curves, run

from rllc.claims.stages import controls


@pytest.mark.parametrize(
    ("function", "dataset"),
    [
        (controls.llc_loss_correlation, "llc__published"),
        (controls.llc_loss_correlation_local, "llc"),
        (controls.llc_control_correlation, "llc__published"),
        (controls.llc_control_correlation_local, "llc"),
    ],
)
def test_correlation_is_from_one_percent_of_training_on(function, dataset):
    """1 % of 50,000 is 500, so from step 800 on."""
    random = np.random.default_rng(0)
    llc, other = random.normal(size=(2, N))
    both = {dataset: curves(llc=llc, llc_prior_only=other), "metrics": curves(loss=other)}
    expected = np.corrcoef(llc[2:], other[2:])[0, 1]
    assert float(function(run(**both))) == pytest.approx(expected, rel=1e-12)
    expected = np.corrcoef(llc[1:], other[1:])[0, 1]
    assert float(function(run(length=10000, **both))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("curve", "expected"), [("lm2", -0.987), ("lm1", -0.977)])
def test_numbers_of_the_authors_own_curves_are_those_that_claims_quote(curve, expected):
    found = controls.llc_loss_correlation(authors_run(curve))
    assert float(found) == pytest.approx(expected, abs=5e-4)
