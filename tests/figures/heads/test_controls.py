"""Estimates beside their controls."""

import json

import numpy as np
import pytest
import xarray as xr
from tests.figures.of_study import figure, values

from rllc.quality import MASKS


def test_a_ring_at_the_last_step_of_a_narrow_panel_is_whole(datasets, misplaced):
    faulty = datasets["rllc.likelihood"].copy(deep=True)
    faulty["quality"][{"step": -1}] = MASKS["mean_not_equilibrated"]
    assert misplaced(figure("control_prior_only")(datasets | {"rllc.likelihood": faulty})) == []


def test_control_findings_are_the_measured_ratios_of_each_setting(datasets, drawn):
    drawing = drawn("control_prior_only")
    for setting, source in (("base setting", "rllc"), ("likelihood", "rllc.likelihood")):
        one = datasets[source].sel(seed=0, distribution="mixture")
        middle = np.nanmedian(1 - one["rllc"] / one["rllc_prior_only"])
        assert values(drawing, "reduction of rLLC", setting) == pytest.approx([100 * middle])
        np.testing.assert_array_equal(
            drawing.data["rllc"].sel(setting=setting).transpose("step", "head"),
            one["rllc"].transpose("step", "head"),
        )
        made = json.loads(datasets[source].attrs["sampling"])
        trace = datasets["hessian"]["hessian_trace_head"].sel(seed=0, distribution="mixture")
        prediction = trace * made["n_beta"] / (2 * made["localization"])
        np.testing.assert_allclose(
            drawing.data["curvature_prediction"].sel(setting=setting).transpose("step", "head"),
            prediction.transpose("step", "head"),
        )
        ratio = np.nanmedian((prediction / one["rllc"]).values)
        assert values(drawing, "curvature prediction", setting) == pytest.approx(
            [ratio] if setting == "base setting" else []
        )


def test_how_heads_change_is_said_beside_a_setting_that_goes_with_the_norm_of_weights(datasets):
    given = datasets["rllc.likelihood"]
    sampling = json.loads(given.attrs["sampling"]) | {"reference_norm": 20.0}
    given = given.assign(rllc=given["rllc"] ** 2).assign_attrs(sampling=json.dumps(sampling))
    ends = {}
    for name, data in (("main", datasets["rllc"]), ("scaled", given)):
        one = data["rllc"].sel(seed=0, distribution="mixture")
        ends[name] = one.dropna("step")
    middle = ends["main"].sizes["step"] // 2
    at = [int(ends["main"]["step"][n]) for n in (-1, middle)]
    drawing = figure("control_prior_only")(datasets | {"rllc.likelihood": given})
    for name, one in (("base setting", ends["main"]), ("likelihood", ends["scaled"])):
        own = one.sel(head=one["layer"].values == 0)
        expected = float((own[-1] / own[middle]).median())
        label = f"at step {at[0]:,} over step {at[1]:,}, median of layer 0, {name}"
        assert values(drawing, label) == pytest.approx([expected])
    for count in (2, 3):
        few = datasets | {"rllc.likelihood": given.isel(step=slice(-count, None))}
        assert bool(values(figure("control_prior_only")(few), " over step ")) == (count == 3)


def test_the_drift_free_control_is_drawn_where_there_is_one_and_says_what_estimates_are(datasets, drawn):
    """Of the heads' estimates one is off its drift-free control by more than a half; of the others the control is
    30 % below the one without gradient, or 10 %."""
    one, off = datasets["rllc.likelihood"], datasets["rllc.likelihood"]["rllc_prior_only"]
    labels = one["head"].values.tolist() if not callable(one["head"]) else one.coords["head"].values.tolist()
    factor = xr.DataArray([0.7, 0.9, *[0.9] * (len(labels) - 2)], {"head": labels}, ["head"])
    walked = xr.DataArray([1.0, 1.0, 1.6, *[1.0] * (len(labels) - 3)], {"head": labels}, ["head"])
    drift_free = one.assign(rllc_drift_free=off * factor, rllc=off * factor * walked).drop_vars(
        "rllc_chain", errors="ignore"
    )
    drawing = figure("control_prior_only")(datasets | {"rllc.likelihood": drift_free})
    kinds = drawing.data["meaning"].sel(setting="likelihood").dropna("step", how="all")
    for head, expected in zip(labels, [1.0, 0.0, 2.0], strict=False):
        known = kinds.sel({"head": head}).dropna("step")
        assert known.size and (known == expected).all()
    known = drawing.data["meaning"].attrs
    assert known["flag_meanings"].split()[1] == "posterior_mean"
    assert known["flag_values"].dtype == drawing.data["meaning"].dtype and "flag_masks" not in known
    kept = drawing.data["meaning"].sel(setting="likelihood")
    share = 100 * float((kept == 2).sum() / kept.notnull().sum())
    assert "rllc_drift_free" in drawing.data and values(drawing, "drift", "likelihood") == pytest.approx(
        [share]
    )
    plain = drawn("control_prior_only")
    assert "rllc_drift_free" not in plain.data and "entred" not in plain.caption
