"""An estimate that has its control says what the control makes of it, by whichever way it was made."""

from functools import partial

import numpy as np
import pytest
import torch
import xarray as xr

from rllc.estimator.control import with_controls
from rllc.estimator.fast_heads import estimate_heads
from rllc.estimator.llc import estimate, estimate_components
from rllc.estimator.with_controls import with_control
from rllc.models.attention_only import AttentionOnly
from rllc.models.transformer import Architecture
from rllc.quality import MASKS
from rllc.sampler_config import SamplerConfig
from rllc.tasks.batch import Batch

SETTING = {"n_beta": 30.0, "localization": 200.0, "step_size": 1e-3, "chains": 4, "draws": 60, "burn_in": 10}
FLAT, STEEP = 0.01, 20.0  # the localization alone shapes the estimate of the first component


def well(weights, batch):
    w = weights["w"]
    return 50 + batch * (FLAT / 2 * w[:30].square().sum() + STEEP / 2 * w[30:].square().sum())


def given(**changes):
    masks = {"flat": {"w": torch.arange(60) < 30}, "steep": {"w": torch.arange(60) >= 30}}
    batches = [torch.tensor(1.0)]
    setting = SETTING | {"vectorize": True} | changes
    return {
        "loss": well,
        "weights": {"w": torch.zeros(60)},
        "batches": batches,
        "components": masks,
        **setting,
    }


def flagged(dataset, name="prior_dominated"):
    return ((dataset["quality"] & MASKS[name]) > 0).values.tolist()


@pytest.mark.parametrize("pairs", [0, 4])
def test_estimate_with_report_control_equal_to_it_is_prior_dominated(pairs):
    found = estimate(**given(antithetic_pairs=pairs, report_control=True))
    near = abs(found.llc / found.llc_prior_only - 1) < 0.1
    assert near.values.tolist() == [True, False]
    assert flagged(found) == [True, False]
    assert found.quality.dtype == np.int32
    assert found.quality.attrs["judged_against"] == "prior_only"
    assert found.llc_prior_only_chain.dims == ("component", "chain")
    assert all(found[name].attrs["long_name"] for name in ("llc_prior_only", "llc_prior_only_se"))


def test_estimate_with_report_control_is_the_estimate_and_its_control_made_apart():
    alone = estimate(**given())
    control = estimate(**given(gradient=False), control_of=alone)
    together = estimate(**given(report_control=True))
    xr.testing.assert_identical(together, with_controls(alone, control))
    xr.testing.assert_identical(
        together.drop_vars("quality")[list(alone.drop_vars("quality"))], alone.drop_vars("quality")
    )
    assert np.array_equal(together.llc_prior_only, control.llc)
    assert "llc_prior_only" not in alone


def test_estimate_without_control_says_that_there_was_none():
    found = estimate(**given())
    assert flagged(found) == [False, False]
    assert found.quality.attrs["judged_against"] == "no control"
    assert with_controls(found).quality.attrs["judged_against"] == "no control"


def test_pairs_whose_control_was_not_made_say_nothing_of_the_prior():
    """The second component has nothing to gain of pairs, and no control is made of it."""
    strong = {"n_beta": 2e4, "localization": 20.0, "step_size": 4e-6, "burn_in": 40}
    found = estimate(**given(**strong, antithetic_pairs=4))
    assert np.isnan(found.llc_prior_only.sel(component="steep"))
    assert flagged(found)[1] is False


@pytest.mark.parametrize(
    "changes", [{}, {"antithetic_pairs": 4}, {"sampler": "rmsprop"}, {"baseline": "init"}]
)
@pytest.mark.parametrize("drift_free_chains", [0, 2])
def test_quality_of_estimate_equals_that_of_the_workflows_datasets(changes, drift_free_chains):
    if drift_free_chains and "sampler" in changes:
        pytest.skip("the drift-free control is of sgld alone")
    call = given(init_batches=[torch.tensor(1.0)])
    setting = SamplerConfig(**{name: call.pop(name) for name in SETTING}, **changes)
    of_workflow = with_control(
        partial(estimate_components, **call), setting=setting, name="rllc", control_chains=4,
        drift_free_chains=drift_free_chains, keep_traces=False,
    )  # fmt: skip
    alone = estimate_components(**call, setting=setting, report_control=True)
    assert flagged(alone) == flagged(of_workflow) != [False, False]
    judged = {"prior_only", *(["drift_free"] if drift_free_chains else [])}
    assert set(of_workflow.quality.attrs["judged_against"].split(", ")) == judged


@pytest.mark.parametrize(("n_beta", "expected"), [(1e-3, True), (30.0, False)])
def test_heads_fast_path_with_report_control_is_flagged_as_the_generic_one(n_beta, expected):
    architecture = Architecture(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=8, d_vocab=11)
    model = AttentionOnly(architecture)
    weights = model.initial_weights(seed=0)
    contexts = torch.arange(32).reshape(4, 8) % 11
    batch = Batch(contexts, torch.arange(7), contexts[:, 1:])
    setting = SamplerConfig(**SETTING | {"draws": 8, "burn_in": 2, "n_beta": n_beta})
    fast = estimate_heads(weights, architecture, [batch], setting=setting, report_control=True)
    masks = {head: model.masks(head) for head in model.heads}
    generic = estimate_components(
        model.loss, weights, [batch], components=masks, setting=setting, report_control=True
    )
    near = abs(fast.llc / fast.llc_prior_only - 1) < 0.1
    assert near.values.tolist() == [expected] * 4
    assert flagged(fast) == flagged(generic) == [expected] * 4


def test_with_controls_by_a_drift_free_control_alone_judges_the_drift_alone():
    found = estimate(**given())
    drift_free = estimate(**given(chains=2, drift_free=True), control_of=found)
    judged = with_controls(found, drift_free=drift_free)
    assert judged.quality.attrs["judged_against"] == "drift_free"
    assert flagged(judged) == [False, False]
    assert np.array_equal(judged.llc_drift_free, drift_free.llc)


def test_with_controls_again_replaces_what_an_earlier_control_said():
    found = estimate(**given(report_control=True))
    other = estimate(**given(n_beta=30.0, gradient=False, chains=2), control_of=estimate(**given()))
    moved = other.assign(llc_chain=2 * other.llc_chain)
    assert flagged(with_controls(found, other)) == [True, False]
    assert flagged(with_controls(found, moved))[0] is False


@pytest.mark.parametrize(
    ("changes", "key"),
    [({"n_beta": 31.0}, "n_beta"), ({"seed": 1}, "seed"), ({"gradient": True}, "gradient")],
    ids=["other setting", "other noise", "no control"],
)
def test_with_controls_of_another_estimate_is_refused(changes, key):
    found = estimate(**given())
    with pytest.raises(ValueError, match=f"prior_only has {key}"):
        with_controls(found, estimate(**given(**{"gradient": False} | changes)))


def test_with_controls_of_fewer_components_is_refused():
    found = estimate(**given())
    call = given(gradient=False)
    some = {"flat": call["components"]["flat"]}
    with pytest.raises(ValueError, match="components"):
        with_controls(found, estimate(**call | {"components": some}, control_of=found))


def test_with_controls_at_other_weights_is_refused():
    found = estimate(**given())
    call = given(gradient=False) | {"weights": {"w": torch.ones(60)}}
    with pytest.raises(ValueError, match="losses at the centre"):
        with_controls(found, estimate(**call))


@pytest.mark.parametrize(
    "changes", [{"gradient": False}, {"drift_free": True}], ids=["prior only", "drift_free"]
)
def test_report_control_of_a_control_is_refused(changes):
    with pytest.raises(ValueError, match="report_control"):
        estimate(**given(report_control=True, **changes))
    with pytest.raises(ValueError, match="report_control"):
        estimate(**given(report_control=True), control_of=estimate(**given()))
