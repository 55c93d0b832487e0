"""Who handles each number."""

import numpy as np
import pytest
from tests.figures.sorting.small import found, panel

from rllc.figures.sorting.inputs import llc_peak
from rllc.figures.sorting.specialization import sort_specialization


def test_specialization_shows_who_handles_each_number(two, misplaced, unlike):
    drawing = sort_specialization(two, title="Two heads")
    assert misplaced(drawing) == []
    assert unlike(drawing, two) == []
    mesh = panel(drawing, "head that handles each number, seed 1").collections[0]
    truth = two["circuits"]["token_head"].sel(seed=1).transpose("token", "step")
    np.testing.assert_array_equal(mesh.get_array(), truth)
    edges = mesh.get_coordinates()[0, :, 0]
    steps = two["circuits"]["step"].values
    assert (edges[:-1] <= steps).all() and (steps < edges[1:]).all()
    borders = mesh.get_coordinates()[:, 0, 1]
    np.testing.assert_array_equal(borders, np.arange(two["circuits"].sizes["token"] + 1) - 0.5)
    findings = found(sort_specialization(two, seeds=[1]))
    last = two["circuits"].sel(seed=1).isel(step=-1)
    share = findings["largest share of a head at step 8,000"]
    assert (share.value, share.unit) == (pytest.approx(100 * float(last["vocabulary_share"].max())), "%")
    assert findings["vocabulary regions at step 8,000"].value == int(last["regions"])


def test_regions_at_the_largest_llc_are_found_where_the_circuits_are_known_there(two):
    peak = int(llc_peak({"llc": two["llc"].sel(seed=1, distribution="lists")})["step"])
    number = two["circuits"]["regions"].sel(seed=1, step=peak).item()
    label = "vocabulary regions at the largest LLC"
    assert found(sort_specialization(two, seeds=[1]))[label].value == number
    elsewhere = two | {"circuits": two["circuits"].drop_sel(step=peak)}
    for given in (elsewhere, {"circuits": two["circuits"]}):
        assert label not in found(sort_specialization(given, seeds=[1]))


def test_shares_of_the_vocabulary_begin_at_zero_and_no_seed_is_clipped(two):
    circuits = two["circuits"].copy(deep=True)
    circuits["vocabulary_share"].loc[{"seed": 1}] *= 1.4
    drawing = sort_specialization(two | {"circuits": circuits})
    for seed in (0, 1):
        low, high = panel(drawing, f"share of the vocabulary, seed {seed}").get_ylim()
        assert -0.1 * high < low < 0  # the markers of heads without a share are whole
        assert high > 1.02 * float(circuits["vocabulary_share"].max())
