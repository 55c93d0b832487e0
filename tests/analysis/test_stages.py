import json

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit

from rllc.analysis.against_loss import against_loss
from rllc.analysis.plateaus import FLATNESS
from rllc.analysis.stages import stages
from rllc.claims.published import DATA
from rllc.study.analyses.stages import HessianStages, Stages

STEP = np.array([0, *np.geomspace(100, 50_000, 40).astype(int)])
DIMS = ("seed", "step", "distribution")


def llc(n_beta, seeds, distributions, shape, step=STEP):
    x = np.log(np.maximum(step, 1))
    curves = np.stack([shape(x) + seed for seed in seeds])[..., None] * np.ones(len(distributions))
    loss = np.broadcast_to(8 - 0.4 * x[None, :, None], curves.shape)
    coords = {"seed": seeds, "step": step, "distribution": distributions}
    data = xr.Dataset({"llc": (DIMS, curves), "init_loss": (DIMS, loss)}, coords=coords)
    return data.assign_attrs(sampling=json.dumps({"n_beta": n_beta}))


def fall_and_rise(x):
    rise = 100 * expit((x - np.log(1000)) / 0.3) + 30 * expit((x - np.log(20000)) / 0.2)
    noise = np.random.default_rng(0).normal(0, 0.5, x.size)
    return rise - 25 * expit((x - np.log(6000)) / 0.2) + noise


@pytest.fixture(scope="module")
def made():
    given = {
        "llc": llc(30.0, [0, 3], ["mixture", "code"], fall_and_rise),
        "llc.published": llc(20.0, [3], ["code"], lambda x: 20 * x, step=STEP[::2]),
    }
    return stages(given, tolerance=8.0, chance=6.9)


def test_every_curve_has_its_boundaries(made):
    one = made.sel(setting="sampling", distribution="code", seed=3)
    kinds, sure = one["boundary_kind"].values.tolist(), one["boundary_determined"].values
    assert [k for k, s in zip(kinds, sure, strict=True) if s == 1 and k in ("peak", "trough")] == [
        "peak",
        "trough",
    ]
    assert 2800 < float(one["boundary_step"][kinds.index("peak")]) < 3500
    assert (one["boundary_low"] <= one["boundary_step"]).where(one["boundary_step"].notnull(), True).all()


def test_checkpoints_are_marked_by_kind(made):
    one = made.sel(setting="sampling", distribution="mixture", seed=0)
    marked = one["at_boundary"].sel(kind="trough").dropna("step")
    assert marked["step"].values[marked.values > 0].tolist() == [
        one["boundary_step"].values[one["boundary_kind"].values.tolist().index("trough")]
    ]
    counted = one["boundary_determined"] == 1
    assert int((one["at_boundary"].sel(kind="any") == 2).sum()) == int(counted.sum())
    assert np.isnan(one["at_boundary"].sel(step=0)).all()


def test_what_was_not_sampled_is_missing_and_what_has_no_plateau_has_no_boundary(made):
    assert made["setting"].values.tolist() == ["sampling", "published"]
    other = made.sel(setting="published")
    assert np.isnan(other["llc_smooth"].sel(seed=0)).all()
    line = other.sel(seed=3, distribution="code")
    assert set(line["boundary_kind"].values.tolist()) == {""}
    assert np.isfinite(line["llc_smooth"].sel(step=STEP[2::2])).all()
    assert np.isnan(line["llc_smooth"].sel(step=STEP[1::2])).all()


def test_the_control_without_gradient_has_boundaries_of_its_own():
    data = llc(30.0, [0], ["mixture"], fall_and_rise)
    line = 0 * data["llc"] + 20 * np.log(np.maximum(data["step"], 1)) + 1
    found = stages({"llc.far": data.assign(llc_prior_only=line)}, tolerance=8.0).squeeze()
    assert found["setting"].values.tolist() == ["far", "far_prior_only"]
    count = (found["at_boundary"].sel(kind="any") > 0).sum("step")
    assert count.values[0] >= 2 and count.values[1] == 0
    off = found.sel(setting="far_prior_only").sel(step=STEP[1:])
    assert off["llc_smooth"].values == pytest.approx(line.squeeze().values[1:], abs=0.5)
    assert off["sampled_loss"].values == pytest.approx((data["init_loss"] + line / 30).squeeze().values[1:])


def test_it_comes_back_from_its_file(made, tmp_path):
    made.to_netcdf(tmp_path / "stages.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "stages.nc"), made)


def test_chains_that_all_go_to_one_loss():
    """n_beta (c - loss) says nothing but the loss; a fall of the LLC that is not the loss's shows beside it."""
    loss = xr.DataArray(np.linspace(8, 3, STEP.size), {"step": STEP}, ["step"])
    found = against_loss(20 * (11 - loss), loss, n_beta=20.0)
    assert float(found["llc_loss_correlation"]) == pytest.approx(-1)
    assert found["sampled_loss"].values == pytest.approx(11)
    assert found["llc_of_loss"].values == pytest.approx((20 * (11 - loss)).values)
    local = against_loss(fall_and_rise(np.log(np.maximum(loss["step"], 1))) + 0 * loss, loss, n_beta=20.0)
    assert abs(float(local["llc_loss_correlation"])) < 0.95


def test_steps_before_one_percent_are_not_compared():
    loss = xr.DataArray([9.0, 3.0, 2.0, 1.0], {"step": [5, 100, 500, 1000]}, ["step"])
    found = against_loss(xr.DataArray([50.0, 1.0, 2.0, 3.0], loss.coords), loss, n_beta=1.0)
    assert float(found["llc_loss_correlation"]) == pytest.approx(-1)
    few = loss.isel(step=[0, 2, 3])
    assert np.isnan(against_loss(few, few, n_beta=1.0)["llc_loss_correlation"])


@pytest.mark.parametrize(
    ("curve", "n_beta", "until", "low", "high", "correlation"),
    [
        ("lm2", 100 / np.log(100), 50_000, 11.18, 11.60, -0.9866),
        ("lm1", 100 / np.log(100), 50_000, 9.62, 10.55, -0.977),
        ("lr1", 0.02 / 3e-4, 40_000, 4.43, 4.46, -0.99998),
    ],
)
def test_the_published_chains_left_the_model(curve, n_beta, until, low, high, correlation):
    """Their loss is above ln 5000 = 8.52 nats, and above 4.125 of the predictor that is always zero."""
    rows = np.loadtxt(DATA / "published_llc.csv", delimiter=",", dtype=str, skiprows=4)
    step, value, loss = rows[rows[:, 0] == curve, 1:].astype(float).T
    within = (step >= 100) & (step <= until)
    cut = [xr.DataArray(values[within], {"step": step[within]}, ["step"]) for values in (value, loss)]
    found = against_loss(*cut, n_beta=n_beta)
    assert float(found["sampled_loss"].min()) == pytest.approx(low, abs=0.01)
    assert float(found["sampled_loss"].max()) == pytest.approx(high, abs=0.01)
    assert float(found["llc_loss_correlation"]) == pytest.approx(correlation, rel=1e-3, abs=1e-5)


def test_standard_errors_are_read_by_the_smoother_of_llc_and_control():
    data = llc(30.0, [0], ["mixture"], fall_and_rise)
    data = data.assign(llc_prior_only=data["llc"], llc_se=0 * data["llc"] + 0.5)
    found = stages({"llc": data}, tolerance=8.0).squeeze()
    assert 1 <= float(found["error_scale"].sel(setting="sampling")) < 1.5
    assert np.isnan(found["error_scale"].sel(setting="sampling_prior_only"))
    wide = stages({"llc": data.assign(llc_prior_only_se=0 * data["llc"] + 5)}, tolerance=8.0).squeeze()
    assert float(wide["error_scale"].sel(setting="sampling_prior_only")) == 1
    sure = (wide["boundary_determined"] == 1).sum("boundary")
    assert int(sure.sel(setting="sampling")) > int(sure.sel(setting="sampling_prior_only"))


def test_the_flat_start_is_a_boundary_and_counts_are_by_tolerance(made):
    one = made.sel(setting="sampling", distribution="mixture", seed=0)
    assert "start" in one["boundary_kind"].values.tolist()
    assert int((one["at_boundary"].sel(kind="start") > 0).sum()) == 1
    marked = (one["at_boundary"].sel(kind="any") > 0).sum()
    assert int(marked) == int(one["boundary_count"].sel(flatness=0.08))
    wide = stages({"llc": llc(30.0, [0], ["mixture"], fall_and_rise)}, tolerance=8.0, flatness=0.04)
    count = wide["boundary_step"].notnull().sum("boundary").squeeze()
    assert int(count) == int(one["boundary_count"].sel(flatness=0.04))


def test_default_tolerance_of_the_config_is_that_of_the_rule():
    assert Stages().flatness == HessianStages().flatness == FLATNESS
