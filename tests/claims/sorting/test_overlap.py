"""Overlap of heads: values by hand on a small run."""

import numpy as np
import pytest
from tests.claims.sorting.small import CLAIMS, LLC, datasets, llc, run

from rllc.analysis.curves import NotJudged
from rllc.claims.experiment import Experiment
from rllc.claims.judge import judge
from rllc.claims.sorting import overlap


@pytest.mark.parametrize(
    ("function", "variable", "curve", "expected"),
    [
        # Step 0 is left out.
        (overlap.overlap_fall, "head_overlap", [0.9, 0.2, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.3], 0.4),
        (overlap.overlap_common, "head_overlap", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 7),
        (overlap.final_regions, "regions_min3", [8, 7, 6, 5, 5, 5, 5, 5, 5, 4], 4),
        (overlap.final_raw_regions, "regions", [8, 7, 6, 5, 5, 5, 5, 5, 5, 3], 3),
        (overlap.regions_common, "regions_min3", [8, 7, 6, 5, 5, 5, 5, 2, 5, 3], 2),
    ],
)
def test_number_of_circuits_is_that_by_hand(function, variable, curve, expected):
    data = datasets(**{variable: curve})
    assert float(function(run(data))) == pytest.approx(expected, rel=1e-12)


def test_overlap_lead_is_log2_of_the_steps_of_both_largest_means():
    """The overlap's mean over three is largest at step 400, the LLC's at 1,200."""
    curve = [9, 0, 3, 3, 3, 1, 1, 1, 1, 1]
    data = {"llc": llc(LLC), **datasets(head_overlap=curve)}
    assert float(overlap.overlap_lead(run(data))) == pytest.approx(np.log2(1201 / 401))


def test_overlap_has_no_lead_on_an_llc_that_still_rises():
    data = {"llc": llc(np.arange(10.0)), **datasets(head_overlap=np.arange(10.0))}
    with pytest.raises(NotJudged, match="no peak is seen"):
        overlap.overlap_lead(run(data))


def test_regions_in_random_orders_of_the_numbers_are_the_chance_level():
    """Two heads that halve 40 numbers: some 20 runs by chance, and of three or more numbers most often at most 10."""
    diagonal = np.stack([np.arange(40) < 20, np.arange(40) >= 20]).astype(float)
    ov = np.einsum("ht,tu->htu", diagonal, np.eye(40))
    shape = "seed", "step", "head", "token", "other_token"
    data = datasets(regions=np.full(10, 2.0), regions_min3=np.full(10, 2.0))
    data["circuits"]["ov"] = shape, np.broadcast_to(ov, (1, 10, *ov.shape))
    name = "sort_2head_baseline"
    table = judge(
        [each for each in CLAIMS if each.name in ("regions_2heads", "regions_raw_2heads")],
        {name: Experiment(name, "sorting", text="lists", steps=8000)},
        {name: data},
    )
    assert table["verdict"].sel(claim="regions_raw_2heads").item() == "holds"
    assert table["chance"].sel(claim="regions_raw_2heads").item() < 0.01
    assert table["verdict"].sel(claim="regions_2heads").item() == "not judged"
    assert table["chance"].sel(claim="regions_2heads").item() > 0.5
