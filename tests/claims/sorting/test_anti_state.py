"""Heads' anti-states: values by hand on a small run."""

import numpy as np
from tests.claims.sorting.small import STEPS, datasets, run

from rllc.claims.sorting import anti_state


def test_anti_state_is_that_of_the_head_with_the_largest_at_the_end():
    data = datasets()
    values = np.zeros((1, len(STEPS), 3))
    values[0, -1], values[0, 3] = [-0.5, 0.7, 0.2], 0.9
    data["circuits"] = data["circuits"].assign_coords(head=["0:0", "0:1", "0:2"])
    data["circuits"]["anti_state"] = ("seed", "step", "head"), values
    assert float(anti_state.final_anti_state(run(data))) == 0.7
