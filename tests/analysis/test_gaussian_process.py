import warnings

import numpy as np

from rllc.analysis.gaussian_process import smooth

STEP = np.geomspace(1, 1000, 12)


def test_smooth_of_a_straight_line_whose_length_is_at_its_bound_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = smooth(STEP, np.log(STEP))
    np.testing.assert_allclose(found.slope, 1.0, atol=0.1)
