from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import xarray as xr

from rllc.estimator.llc import estimate_components
from rllc.estimator.with_controls import by_head, with_control
from rllc.quality import reasons
from rllc.sampler_config import SamplerConfig

SETTING = SamplerConfig(n_beta=30.0, localization=200.0, step_size=1e-3, chains=4, draws=120, burn_in=20)
COMPONENT = ("acceptance", "acceptance_null", "drift", "drift_se", "rhat", "ess", "quality", "init_loss")
CHAIN = (
    "status", "geweke", "heidelberger_welch_start", "heidelberger_welch_p", "heidelberger_welch_halfwidth",
)  # fmt: skip


def made(curvature=5.0, name="rllc", keep_traces=False, **changes):
    estimate = partial(
        estimate_components, lambda w, b: 50 + curvature / 2 * w["w"].square().sum(), {"w": torch.zeros(60)},
        [None], components={head: {"w": torch.arange(60) // 30 == i} for i, head in enumerate(("0:0", "1:0"))},
    )  # fmt: skip
    setting = replace(SETTING, **changes)
    return with_control(estimate, setting=setting, name=name, control_chains=2, keep_traces=keep_traces)


def test_the_diagnostics_are_carried_with_their_dims_and_units():
    ds = made(keep_traces=True)
    for name in ("rllc", "rllc_se", "rllc_prior_only", *COMPONENT[:-1]):
        assert ds[name].dims == ("component",), name
    for name in ("rllc_chain", *CHAIN):
        assert ds[name].dims == ("component", "chain"), name
    assert ds.trace_paired_loss.dims == ("component", "chain", "draw")
    assert ds.init_loss.dims == ()
    for name in set(ds.data_vars) - {"status"}:
        assert ds[name].attrs["units"], name
        assert ds[name].attrs["long_name"], name
    assert "rLLC" in ds.drift.attrs["long_name"]
    assert not ds.attrs
    heads = by_head(ds)
    assert heads.quality.dims == ("head",)
    assert heads["layer"].values.tolist() == [0, 1]
    xr.testing.assert_identical(made(name="llc").quality, ds.quality)


def test_controls_are_compared_over_the_chains_whose_noise_they_share():
    """One move each: the two controls make that of the first two chains, and the other six differ by a tenth."""
    ds = made(0.1, chains=8, draws=2, burn_in=1)
    for off, chains in zip(ds.rllc_prior_only, ds.rllc_chain, strict=True):
        assert abs(chains.mean() / off - 1) > 0.1 > 100 * abs(chains[:2].mean() / off - 1)
    assert all("prior_dominated" in reasons(value) for value in ds.quality)


@pytest.mark.parametrize(("curvature", "expected"), [(0.01, ["prior_dominated"]), (5.0, [])])
def test_an_estimate_that_the_gradient_does_not_change_is_said_to_be_the_localizations(curvature, expected):
    ds = made(curvature)
    assert [reasons(value) for value in ds.quality] == [expected] * 2
    shrinkage = 1 - ds.rllc / ds.rllc_prior_only
    assert (np.abs(shrinkage) < 0.1).all() == bool(expected)
    assert ds.quality.dtype == np.int32
    assert ds.quality.attrs["limit_prior_share"] == 0.1
