import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor

from rllc.analysis.gaussian_process import smooth

STEP = np.geomspace(1, 1000, 12)


def test_smooth_of_a_straight_line_whose_length_is_at_its_bound_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = smooth(STEP, np.log(STEP))
    np.testing.assert_allclose(found.slope, 1.0, atol=0.1)


def test_smooth_shows_that_the_optimiser_failed(monkeypatch):
    fit = GaussianProcessRegressor.fit

    def failing(self, *given):
        warnings.warn("lbfgs failed to converge (status=2)", ConvergenceWarning, stacklevel=2)
        return fit(self, *given)

    monkeypatch.setattr(GaussianProcessRegressor, "fit", failing)
    with pytest.warns(ConvergenceWarning, match="lbfgs failed"):
        smooth(STEP, np.log(STEP))
