"""Positional embeddings: values by hand on small runs."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.stages.small import STEPS, N, curves, run

from rllc.analysis.curves import NotJudged
from rllc.claims.stages import positions


@pytest.mark.parametrize(
    ("function", "dataset", "expected"),
    [
        (positions.positions_at_900, {"positions": curves(position_gain=np.arange(N) / 10)}, 0.3),
        (positions.positions_at_6500, {"positions": curves(position_gain=np.arange(N) / 10)}, 0.5),
    ],
)
def test_number_of_one_curve_is_that_by_hand(function, dataset, expected):
    assert float(function(run(**dataset))) == pytest.approx(expected, rel=1e-12)


def test_share_of_the_first_component_is_read_at_step_6400():
    share = np.stack([np.arange(N) / 10, np.ones(N)], -1)
    data = xr.Dataset(
        {"explained_variance": (("seed", "step", "component"), share[None])},
        {"seed": [0], "step": STEPS, "component": [1, 2]},
    )
    assert float(positions.lissajous(run(positions=data))) == 0.4


def test_a_shorter_training_has_no_number_of_a_later_step():
    short = curves(position_gain=np.arange(N)).isel(step=slice(4))
    with pytest.raises(NotJudged, match="before 6,500"):
        positions.positions_at_6500(run(positions=short))
