"""Estimates against their prior-only control and against what curvature predicts."""

import json

import pytest
import xarray as xr

from rllc.figures import against_controls

SETTING = {"n_beta": 30.0, "localization": 200.0, "reference_norm": None, "control_chains": 2}


def estimates(on, off, chains=None, **setting):
    data = {"rllc": ("head", on), "rllc_prior_only": ("head", off)}
    if chains is not None:
        data["rllc_chain"] = (("head", "chain"), chains)
    coords = {"head": ["0:0", "0:1", "1:0"][: len(on)], "seed": 3}
    return xr.Dataset(data, coords, {"sampling": json.dumps(SETTING | setting)})


def hessian(*trace):
    return {
        "hessian": xr.Dataset(
            {"hessian_trace_head": ("head", [*trace])}, {"head": ["0:0", "0:1"][: len(trace)]}
        )
    }


def test_change_by_gradient_is_over_the_chains_that_have_a_control():
    data = estimates([9.0], [2.0], [[1.0, 2.0, 50.0, 60.0]])
    assert against_controls.change_by_gradient(data) == pytest.approx(1 - 1.5 / 2)


@pytest.mark.parametrize("without", ["drop_vars", "drop_attrs", "pairs"])
def test_change_by_gradient_without_shared_chains_is_over_all(without):
    data = estimates([9.0], [2.0], [[1.0, 2.0, 50.0, 60.0]])
    if without == "drop_vars":
        data = data.drop_vars("rllc_chain")
    elif without == "drop_attrs":
        data = data.drop_attrs()
    else:
        data = estimates([9.0], [2.0], [[1.0, 2.0, 50.0, 60.0]], antithetic_pairs=4)
    assert against_controls.change_by_gradient(data) == pytest.approx(1 - 9 / 2)


def test_predicted_is_n_beta_over_twice_the_localization_times_the_trace():
    found = against_controls.predicted(estimates([1.0, 1.0], [1.0, 1.0]), hessian(4.0, 8.0))
    assert found.values == pytest.approx([30 / 400 * 4, 30 / 400 * 8])


@pytest.mark.parametrize(
    ("setting", "datasets"),
    [({"localization": 0}, hessian(1.0)), ({"reference_norm": 20.0}, hessian(1.0)), ({}, {})],
)
def test_predicted_is_unknown_without_localization_scaled_or_without_a_trace(setting, datasets):
    assert against_controls.predicted(estimates([1.0], [1.0], **setting), datasets) is None
