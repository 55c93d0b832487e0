"""The sweep against single estimates, and the curvature at the centre against a quadratic's own."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rllc.estimator.diagnostics.quality import judge_against_controls
from rllc.estimator.llc import estimate_components
from rllc.measures.calibration.kernel import at_center, calibration, joined, sweep
from rllc.sampler_config import SamplerConfig
from rllc.vocabulary import STATUS

CURVATURES = torch.tensor([1.0, 3.0, 0.5, 2.0])
MASKS = {"0:0": {"w": torch.tensor([True, True, False, False])}, "full": None}


def well(weights, batch):
    """A quadratic well; a batch shifts its slope and leaves its curvature."""
    return 0.5 * (CURVATURES * weights["w"] ** 2).sum() + (batch * weights["w"]).sum() + 5.0


@pytest.fixture
def weights():
    return {"w": torch.tensor([0.3, -0.2, 0.1, 0.4])}


@pytest.fixture
def batches():
    generator = torch.Generator().manual_seed(3)
    return [0.2 + torch.randn(4, generator=generator) for _ in range(10)]


@pytest.fixture
def sample(weights, batches):
    return partial(estimate_components, well, weights, batches, components=MASKS)


FIXED = {"draws": 10, "burn_in": 4, "seed": 5}
GRID = {"n_beta": [3.0, 30.0], "localization": [5.0, 50.0, 500.0], "step_size": [1e-3, 1e-2]}


def test_every_cell_is_the_estimate_at_its_setting(sample):
    found = sweep(sample, grid=GRID, control_chains=2, chains=3, **FIXED)
    for n_beta in GRID["n_beta"]:
        at = {"n_beta": n_beta, "localization": 50.0, "step_size": 1e-2}
        setting = SamplerConfig(**at, chains=3, **FIXED)
        cell, one = found.sel(at), sample(setting=setting)
        off = sample(setting=replace(setting, chains=2, gradient=False))
        for name in (
            "llc",
            "llc_se",
            "rhat",
            "drift",
            "drift_se",
            "llc_chain",
            "status",
            "equilibrated_variance",
        ):
            np.testing.assert_array_equal(cell[name].values, one[name].values, err_msg=name)
        np.testing.assert_allclose(cell["llc_prior_only"], off["llc"])
        np.testing.assert_allclose(cell["llc_prior_only_se"], off["llc_se"])
        drift_free = sample(setting=replace(setting, chains=2, drift_free=True))
        np.testing.assert_allclose(cell["llc_drift_free"], drift_free["llc"])
        quality = judge_against_controls(one, off["llc_chain"], drift_free["llc_chain"])
        np.testing.assert_array_equal(cell["quality"], quality)
        walked = one["llc_chain"][:, :2] - drift_free["llc_chain"]
        np.testing.assert_allclose(cell["llc_walked"], walked.mean("chain"))
        np.testing.assert_allclose(
            n_beta * cell["paired_loss"].isel(draw=slice(4, None)).mean(("chain", "draw")),
            one["llc"],
            rtol=1e-4,
        )


def test_pairs_that_are_unstable_without_a_loss_are_missing(sample):
    found = sweep(sample, grid=GRID, control_chains=1, chains=2, **FIXED)
    out = found.sel(localization=500.0, step_size=1e-2)
    assert out["llc"].isnull().all()
    assert (out["status"] == STATUS.index("missing")).all()
    assert found["llc"].sel(localization=500.0, step_size=1e-3).notnull().all()
    with pytest.raises(ValueError, match="lower the step sizes"):  # 4 is unstable, too
        grid = {"n_beta": [3.0], "localization": [400.0, 500.0], "step_size": [1e-2]}
        sweep(sample, grid=grid, control_chains=1, chains=2, **FIXED)


def test_sweeps_of_other_grids_are_joined_and_stay_what_they_are(sample):
    coarse = {"n_beta": [3.0], "localization": [5.0, 50.0], "step_size": [1e-3]}
    other = {"n_beta": [30.0], "localization": [50.0], "step_size": [1e-2]}
    first = sweep(sample, grid=coarse, control_chains=1, chains=3, **FIXED)
    second = sweep(sample, grid=other, control_chains=1, chains=2, **FIXED | {"draws": 12})
    second = second.assign_coords(component=["1:0", "whole"])
    whole = joined([first, second])
    for one in (first, second):
        here = whole.sel(
            {
                name: one[name]
                for name in ("component", "localization", "n_beta", "step_size", "chain", "draw")
            }
        )
        np.testing.assert_array_equal(here["paired_loss"], one["paired_loss"])
        np.testing.assert_array_equal(here["llc"], one["llc"])
        np.testing.assert_array_equal(here["status"], one["status"])
    assert (whole["status"].sel(n_beta=30.0, component="0:0") == STATUS.index("missing")).all()
    assert (whole["status"].sel(component="1:0", chain=2) == STATUS.index("missing")).all()
    assert whole["status"].dtype == np.int8
    assert whole["quality"].dtype == np.int32


def test_what_is_measured_at_a_checkpoint_says_what_it_is(weights, batches):
    data = SimpleNamespace(seed=lambda step: step, batches=lambda purpose, count, **size: batches[:count])
    model = SimpleNamespace(loss=well, heads=["0:0"], masks=MASKS.get)
    section = {**GRID, "chains": 2, "draws": 10, "burn_in": 4, "divergence_factor": 5.0, "control_chains": 1}
    section |= {"components": None, "batch_size": 1, "scored_positions": None}
    ds = calibration(data, probes=2, heads=section, full={**section, "n_beta": [10.0]})(weights, model, 5)
    assert ds["component"].values.tolist() == ["0:0", "full"]
    model.heads = ["0:0", "1:0"]
    one = calibration(data, probes=2, heads={**section, "components": ["0:0"]}, full=None)(weights, model, 5)
    at = {"component": "0:0", "n_beta": 30.0}
    np.testing.assert_array_equal(one["llc"].sel(at), ds["llc"].sel(at))
    assert one["component"].values.tolist() == ["0:0"]
    for name, variable in ds.data_vars.items():
        assert {"long_name", "flag_meanings" if name in ("status", "quality") else "units"} <= set(
            variable.attrs
        )


def test_the_centre_of_a_quadratic_well(weights, batches):
    found = at_center(well, weights, batches, components=MASKS, probes=4, seed=0)
    for component, chosen in {"0:0": slice(0, 2), "full": slice(0, 4)}.items():
        trace = found.sel(component=component)["hessian_trace"]
        np.testing.assert_allclose(trace, CURVATURES[chosen].sum(), rtol=1e-5)

    def coupled(weights, batch):
        return well(weights, batch) + weights["w"][0] * weights["w"][2]

    # of its own coordinates alone, so what couples them with the others adds no noise
    head = at_center(coupled, weights, batches, components=MASKS, probes=3, seed=0).sel(component="0:0")
    np.testing.assert_allclose(head["hessian_trace"], 4.0, rtol=1e-5)
    np.testing.assert_allclose(head["hessian_trace_se"], 0.0, atol=1e-5)

    def changing(weights, batch):
        return 0.5 * (batch**2 * weights["w"] ** 2).sum() + 5.0

    several = at_center(changing, weights, batches, components=MASKS, probes=4, seed=0)
    for component, chosen in {"0:0": slice(0, 2), "full": slice(0, 4)}.items():
        truth = np.mean([float((batch[chosen] ** 2).sum()) for batch in batches[:4]])
        np.testing.assert_allclose(several.sel(component=component)["hessian_trace"], truth, rtol=1e-5)
    fewer = at_center(changing, weights, batches[:2], components=MASKS, probes=4, seed=0)  # than probes
    truth = np.mean([float((batch**2).sum()) for batch in batches[:2]])
    np.testing.assert_allclose(fewer.sel(component="full")["hessian_trace"], truth, rtol=1e-5)
    values = [float(well(weights, batch)) for batch in batches]
    np.testing.assert_allclose(found["loss_at_center"], np.mean(values), rtol=1e-6)


def test_the_quality_is_told_the_control_at_the_n_beta_of_its_cell(sample, monkeypatch):
    told = []

    def judge(on, off, drift_free):
        told.append(off)
        return judge_against_controls(on, off, drift_free)

    monkeypatch.setattr("rllc.measures.calibration.kernel.judge_against_controls", judge)
    grid = {"n_beta": [3.0, 30.0], "localization": [50.0], "step_size": [1e-2]}
    sweep(sample, grid=grid, control_chains=2, chains=3, **FIXED)
    for n_beta, given in zip(grid["n_beta"], told, strict=True):
        setting = SamplerConfig(
            n_beta=n_beta, localization=50.0, step_size=1e-2, chains=2, gradient=False, **FIXED
        )
        np.testing.assert_allclose(given, sample(setting=setting)["llc_chain"])
