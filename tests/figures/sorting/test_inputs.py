"""The largest LLC, as figures read it."""

import pytest
from tests.figures.sorting.small import found

from rllc.claims import Experiment, Run
from rllc.claims.sorting import llc as claims_of_llc
from rllc.figures.sorting.curves import sort_curves
from rllc.figures.sorting.inputs import llc_peak


def test_the_largest_llc_is_one_and_the_same_in_figures_and_in_the_claims_table(two):
    """By the functions of claims, early values far above all others and missing ones included."""
    high = two["llc"].copy(deep=True)
    high["llc"].loc[{"step": slice(None, 30)}] = 900.0

    def number(name, seed):
        run = Run(Experiment("sort_2head_baseline", "sorting"), {"llc": high}, seed)
        return float(getattr(claims_of_llc, name)(run))

    for seed in (0, 1):
        one = {"llc": high.sel(seed=seed, distribution="lists")}
        peak = llc_peak(one)
        assert float(peak) == pytest.approx(number("llc_peak", seed))
        assert int(peak["step"]) == number("llc_peak_step", seed)
    drawing = sort_curves({**two, "llc": high}, seeds=[1])
    assert found(drawing)["fall of the LLC from peak to end"].value == pytest.approx(
        100 * number("llc_fall", 1)
    )
    few = {"llc": high.sel(seed=0, distribution="lists").isel(step=slice(0, 5))}
    assert llc_peak(few) is None
