"""Order of behaviours: values by hand on small runs."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.stages.small import run

from rllc.analysis.curves import NotJudged
from rllc.claims.selection import Absent
from rllc.claims.stages import order


@pytest.mark.parametrize(
    ("function", "variable"),
    [
        (order.bigram_after_boundary, "bigram_after_boundary"),
        (order.behaviours_in_order, "in_order"),
        (order.composition_lead, "composition_lead"),
    ],
)
def test_milestones_are_read_at_their_one_step(function, variable):
    coords = {"seed": [0], "step": [50000]}
    data = xr.Dataset({variable: (("seed", "step"), [[0.25]])}, coords)
    assert float(function(run(milestones=data))) == 0.25
    with pytest.raises(NotJudged, match=variable):
        function(run(milestones=data * np.nan))


def test_a_model_without_the_dataset_has_no_claim_about_it():
    with pytest.raises(Absent, match="milestones"):
        order.composition_lead(run())
