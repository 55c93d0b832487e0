"""What claims on sorting read: the LLC on the text of training, and the end that trainings have in common."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.sorting.small import LENGTHY, LLC, STEPS, datasets, llc, run

from rllc.analysis.curves import NotJudged
from rllc.claims.sorting import accuracy, overlap, symmetry
from rllc.claims.sorting import llc as llc_claims


@pytest.mark.parametrize(("length", "place"), [(4000, 3), (8000, 3), (59999, 3), (60000, 5), (100000, 5)])
def test_experiments_are_compared_at_the_end_of_the_shortest_training_of_their_study(length, place):
    """A model of the post's lengths is read at step 60,000, a shorter one at 4,000."""
    curve = np.arange(7.0) + 1
    data = datasets(LENGTHY, head_overlap=curve, translational_symmetry=curve, regions_min3=curve)
    for function in (overlap.overlap_common, symmetry.symmetry_common, overlap.regions_common):
        assert float(function(run(data, length=length))) == curve[place]
    falling = np.array([0, 6, 9, 9, 3, 0, 3])
    means = np.convolve(falling[1 : place + 1], np.ones(3) / 3, "valid")
    found = llc_claims.llc_fall_common(run({"llc": llc(falling, steps=LENGTHY)}, length=length))
    assert float(found) == pytest.approx(1 - means[-1] / means.max())


def test_the_llc_is_read_on_perturbed_lists_and_the_accuracy_on_clean_ones():
    flat = np.ones(len(STEPS))
    both = llc(flat, LLC, distributions=("lists", "noisy_lists"))
    data = datasets()
    noisy = data["metrics"].assign_coords(distribution=["noisy_lists"]) * 0.5
    data["metrics"] = xr.concat([data["metrics"], noisy], "distribution")
    model = run({"llc": both, **data}, text="noisy_lists")
    assert float(llc_claims.llc_fall_single(model)) == 0.5
    assert float(accuracy.final_accuracy(model)) == 0.09
    assert (
        float(llc_claims.llc_fall_single(run({"llc": llc(LLC)}, text="noisy_lists"))) == 0.5
    )  # clean ones alone


def test_short_training_has_no_number_of_a_later_step():
    data = datasets(head_overlap=np.ones(10))
    with pytest.raises(NotJudged, match="before 60,000"):
        accuracy.accuracy_at_60k(run(data))
    short = {name: each.isel(step=slice(4)) for name, each in data.items()}
    with pytest.raises(NotJudged, match="before 4,000"):
        overlap.overlap_common(run(short, length=400))
    with pytest.raises(NotJudged, match="3 checkpoints"):
        llc_claims.llc_fall(run({"llc": llc(LLC).isel(step=slice(3))}, length=200))
