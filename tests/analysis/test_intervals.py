"""Degrees of freedom of standard errors, and the bands that they give."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.intervals import FEW, degrees_of_freedom, few, half_width
from rllc.vocabulary import FREEDOM, PRECISE_AT, PRECISE_FREEDOM


def of_probes(values, **facts):
    """Mean and standard error over the last axis."""
    error = values.std(-1, ddof=1) / values.shape[-1] ** 0.5
    return xr.Dataset({"trace": ("step", values.mean(-1)), "trace_se": ("step", error, facts)})


def test_band_of_four_probes_covers_as_much_as_one_error_of_a_normal_number():
    """The truth is 0. One standard error covers 61 % of the time, and the band 68.3 %."""
    probes = np.random.default_rng(0).normal(size=(20_000, 4))
    plain, recorded = of_probes(probes), of_probes(probes, **{FREEDOM: 3})
    covered = [
        float((abs(each["trace"]) <= half_width(each["trace_se"])).mean()) for each in (plain, recorded)
    ]
    assert covered == pytest.approx([0.609, 0.683], abs=0.015)


def test_band_of_many_or_unknown_units_is_the_error_itself():
    many = of_probes(np.random.default_rng(0).normal(size=(3, FEW)), **{FREEDOM: FEW - 1})["trace_se"]
    for each in (many, many.drop_attrs()):
        assert few(each) is None
        assert half_width(each).values.tolist() == each.values.tolist()
    assert few(many.assign_attrs({FREEDOM: FEW - 2})) == FEW - 2


def test_degrees_of_freedom_are_recorded_or_those_of_effective_draws():
    errors = {"llc": 1.0, "llc_se": 0.1, "llc_prior_only_se": 0.1, "ess": 9.0}
    data = xr.Dataset({name: ("step", [value] * 3) for name, value in errors.items()})
    assert degrees_of_freedom(data, "llc").values.tolist() == [8] * 3
    assert degrees_of_freedom(data, "llc_prior_only") == np.inf  # these are the draws of another chain
    data["llc_se_control"] = ("step", [0.0, np.nan, 0.1])
    data["ess"] = ("step", [9.0, 1.5, 9.0])
    assert degrees_of_freedom(data, "llc").values.tolist() == [np.inf, 1, np.inf]
    data["llc_se"].attrs[FREEDOM] = 3
    assert degrees_of_freedom(data, "llc") == 3


def test_degrees_of_freedom_of_steps_with_more_units():
    values = np.random.default_rng(0).normal(size=(3, 4))
    more = {FREEDOM: 3, PRECISE_AT: [20], PRECISE_FREEDOM: 63}
    data = of_probes(values, **more).assign_coords(step=[0, 10, 20])
    assert degrees_of_freedom(data, "trace").values.tolist() == [3, 3, 63]
    widening = (half_width(data["trace_se"]) / data["trace_se"]).values
    assert widening == pytest.approx([1.197, 1.197, 1.008], abs=0.001)
    assert few(data["trace_se"]) == 3  # what captions say holds at every step
    last = data.isel(step=-1)
    assert float(degrees_of_freedom(last, "trace")) == 63
