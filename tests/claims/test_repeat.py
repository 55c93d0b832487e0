"""Analyses made again with other types: of one seed alone, or of all seeds together."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.runs import HEADS, STEPS, scores

from rllc.analysis.kcomposition import kcomposition
from rllc.claims.repeat import REPEAT

TYPES = ["multigram", "previous-token", "multigram", "induction"]


@pytest.fixture
def datasets():
    made = scores(TYPES, seeds=(0, 1))
    random = np.random.default_rng(0)
    composed = random.random((2, len(STEPS), len(HEADS), len(HEADS)))
    coords = {"later_head": HEADS}
    dims = ("seed", "step", "head", "later_head")
    return {"attention_scores": made.assign(k_composition=(dims, composed)).assign_coords(coords)}


@pytest.mark.parametrize("seeds", [[0, 1], [1]])
def test_analysis_with_the_measured_types_equals_the_first_one(datasets, seeds):
    types = datasets["attention_scores"]["head_type"]
    given = types if len(seeds) > 1 else types.sel(seed=1, drop=True)
    made = REPEAT["kcomposition"](datasets, given, 1, {})
    xr.testing.assert_equal(made, kcomposition(datasets, random_seed=0).sel(seed=seeds))
