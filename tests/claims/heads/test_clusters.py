"""Claims on clusters: what chance passes is not judged, what fails fails."""

import pytest
import xarray as xr
from tests.claims.runs import run

from rllc.analysis.curves import NotJudged
from rllc.claims.heads import clusters


def given(right):
    coords = {"seed": [0], "step": [3000], "n_clusters": [2, 3, 4]}
    numbers = xr.Dataset({"indices_right": (("seed", "step"), [[float(right)]])}, coords)
    return {"clusters": numbers}


@pytest.mark.parametrize("right", [0, 1])
def test_indices_that_do_not_find_the_number_of_types_are_no_evidence(right):
    with pytest.raises(NotJudged, match=r"chance passes: .* pass in 74%"):
        clusters.indices_useless(run(given(right)))


@pytest.mark.parametrize("right", [2, 3])
def test_indices_that_find_the_number_of_types_refute_the_claim(right):
    assert float(clusters.indices_useless(run(given(right)))) == right
