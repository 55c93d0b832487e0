from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest
import torch
import xarray as xr

from rllc.estimator import rllc
from rllc.estimator.llc import estimate, estimate_components
from rllc.estimator.rllc import by_head, estimator, with_control
from rllc.models.components import masks
from rllc.models.loss import next_token_loss
from rllc.models.transformer import Architecture, shapes
from rllc.setting import Setting
from rllc.tasks.batch import Batch
from rllc.verdicts import reasons

SETTING = Setting(n_beta=30.0, localization=200.0, step_size=1e-3, chains=4, draws=120, burn_in=20)
COMPONENT = ("acceptance", "acceptance_null", "drift", "drift_se", "rhat", "ess", "verdict", "init_loss")
CHAIN = (
    "status", "geweke", "heidelberger_welch_start", "heidelberger_welch_p", "heidelberger_welch_halfwidth",
    "raftery_lewis_factor",
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
    for name in ("rllc", "rllc_se", "rllc_gradient_off", *COMPONENT[:-1]):
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
    assert heads.verdict.dims == ("head",)
    assert heads["layer"].values.tolist() == [0, 1]
    xr.testing.assert_identical(made(name="llc").verdict, ds.verdict)


@pytest.mark.parametrize(("curvature", "expected"), [(0.01, ["prior_dominated"]), (5.0, [])])
def test_an_estimate_that_the_gradient_does_not_change_is_said_to_be_the_localizations(curvature, expected):
    ds = made(curvature)
    assert [reasons(value) for value in ds.verdict] == [expected] * 2
    shrinkage = 1 - ds.rllc / ds.rllc_gradient_off
    assert (np.abs(shrinkage) < 0.1).all() == bool(expected)
    assert ds.verdict.dtype == np.int16
    assert ds.verdict.attrs["limit_prior_share"] == 0.1


@pytest.mark.parametrize("labels", [["0:0", "0:1"], ["0:0+0:1"], ["full", "0:0"]])
@pytest.mark.parametrize("changes", [{}, {"sampler": "rmsprop"}])
def test_components_of_any_kind_and_sampler_are_those_of_the_generic_path(labels, changes, monkeypatch):
    fast, heads = [], rllc.estimate_heads
    monkeypatch.setattr(rllc, "estimate_heads", lambda *a, **given: fast.append(1) or heads(*a, **given))
    architecture = Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=6, d_vocab=11)
    random = torch.Generator().manual_seed(0)
    weights = {n: torch.randn(s, generator=random).double() for n, s in shapes(architecture).items()}
    tokens = torch.randint(11, (4, 6), generator=random)
    batches, loss = [Batch(tokens, torch.arange(5), tokens[:, 1:])], next_token_loss(architecture)
    setting = replace(SETTING, draws=6, burn_in=0, **changes)
    found = estimator(weights, architecture, labels, batches=batches)(setting=setting)
    assert bool(fast) == (labels == ["0:0", "0:1"] and not changes)
    own = estimator(weights, architecture, labels, loss=lambda w, b: 2 * loss(w, b))
    count = len(fast)
    twice = own(batches=batches, setting=replace(setting, n_beta=setting.n_beta / 2))
    assert len(fast) == count  # another loss takes the generic path
    components = {label: masks(label, architecture) for label in labels}
    expected = estimate(loss, weights, batches, components=components, **asdict(setting))
    np.testing.assert_allclose(found["llc"], expected["llc"], rtol=1e-8)
    assert twice.sizes == found.sizes
