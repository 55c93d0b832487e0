from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest
import torch

from rllc.estimator.llc import estimate_components
from rllc.measures.data import InMemoryData
from rllc.measures.dependence.kernel import dependence, on_new_batches, on_one_prediction, one_prediction_each
from rllc.models.regression import model
from rllc.sampler_config import SamplerConfig
from rllc.seeds import derive
from rllc.tasks.regression.sequences import blocks

MASKS = {"w": {"w": torch.ones(3, dtype=torch.bool)}}
SETTING = SamplerConfig(
    n_beta=20.0, localization=10.0, step_size=1e-2, chains=2, draws=8, burn_in=2, seed=4
)  # fmt: skip


def well(weights, batch):
    return 0.5 * ((weights["w"] - batch) ** 2).sum() + 3.0


WEIGHTS = {"w": torch.tensor([0.2, -0.1, 0.3])}
BATCHES = [torch.randn(3, generator=torch.Generator().manual_seed(i)) for i in range(8)]
OTHERS = [torch.randn(3, generator=torch.Generator().manual_seed(100 + i)) for i in range(8)]
SAME = partial(estimate_components, well, WEIGHTS, components=MASKS)
NEW = partial(estimate_components, on_new_batches(well), WEIGHTS, components=MASKS)


def test_the_loss_of_a_pair_has_the_value_of_one_and_the_gradient_of_the_other():
    w = WEIGHTS["w"].clone().requires_grad_()
    value = on_new_batches(well)({"w": w}, (BATCHES[0], OTHERS[0]))
    assert value.item() == pytest.approx(well(WEIGHTS, OTHERS[0]).item())
    (slope,) = torch.autograd.grad(value, w)
    torch.testing.assert_close(slope, WEIGHTS["w"] - BATCHES[0])


def test_a_pair_of_twice_the_same_minibatch_changes_nothing():
    pairs = [(batch, batch) for batch in BATCHES]
    np.testing.assert_allclose(
        NEW(batches=pairs, setting=SETTING)["loss"], SAME(batches=BATCHES, setting=SETTING)["loss"], rtol=1e-6
    )


def test_new_minibatches_measure_the_same_chain_elsewhere():
    """Moved by b and measured on b + s, the loss differs by |s|^2 / 2 - s . (w_t - b): linear in the chain."""
    shift = torch.tensor([0.5, 0.0, 0.0])
    measured = [
        NEW(batches=[(b, b + sign * shift) for b in BATCHES], setting=SETTING)["loss"].values
        for sign in (1, -1, 0)
    ]
    up, down, here = measured
    np.testing.assert_allclose((up + down) / 2 - here, 0.125, rtol=1e-4)
    np.testing.assert_allclose(here, SAME(batches=BATCHES, setting=SETTING)["loss"], rtol=1e-6)
    assert not np.allclose(up, down)


class Points:
    """Points to be near to, in place of a distribution: those of a purpose and size are always the same."""

    stream = 7

    def batches(self, purpose, *, count, batch_size, scored):
        random = torch.Generator().manual_seed(derive(0, purpose, batch_size, scored))
        return [torch.randn(3, generator=random) for _ in range(count)]

    def seed(self, step, *, seeded=False):
        return self.stream if seeded else derive(self.stream, step)


class Near:
    """A model of no heads: its loss is the well."""

    heads = ()
    loss = staticmethod(well)

    def masks(self, component):
        return {"w": torch.arange(3) < 2} if component == "0:0" else None


BASE = {**asdict(SETTING), "chains": 3, "draws": 9, "burn_in": 1, "batch_size": 4, "scored_positions": 5}
EXTENT = {"chains": 2, "draws": 8, "burn_in": 2}
VARIED = {"dataset_sizes": [8, 32], "batch_sizes": [4, 8], "noise_seeds": [0, 5]}
DATA = Points()


def measured(step=3, **changes):
    settings = {"heads": BASE | {"n_beta": 50.0}, "full": BASE}
    given = {"components": ["full", "0:0"], "settings": settings, **VARIED, **EXTENT, **changes}
    return dependence(DATA, **given)(WEIGHTS, Near(), step)


def alone(purpose="draws", *, size=4, seed=None, component="full", loss=well, few=8, n_beta=20.0):
    batches = DATA.batches(purpose, count=8, batch_size=size, scored=5)[:few]
    if loss is not well:
        others = DATA.batches("batch size, new", count=8, batch_size=size, scored=5)
        batches = list(zip(batches, others, strict=True))
    seed = derive(7, 3) if seed is None else seed
    components = {component: Near().masks(component)}
    setting = replace(SETTING, n_beta=n_beta, seed=seed)
    return estimate_components(loss, WEIGHTS, batches, components=components, setting=setting)


def test_every_variation_is_the_estimate_with_one_thing_changed():
    ds, new = measured(), on_new_batches(well)
    full = ds.sel(component="full")
    expected = {
        "llc": ({}, alone()),
        "llc_by_dataset_size": ({"dataset_size": 8}, alone(few=2)),
        "llc_by_batch_size": ({"evaluation": "same", "batch_size": 8}, alone("batch size", size=8)),
        "llc_by_noise_seed": (
            {"seeding": "shared", "noise_seed": 5}, alone("noise 5", seed=derive(7, "noise", 5))
        ),
    }  # fmt: skip
    further = {
        "llc_by_dataset_size": ({"dataset_size": 32}, alone()),
        "llc_by_batch_size": ({"evaluation": "new", "batch_size": 4}, alone("batch size", loss=new)),
        "llc_by_noise_seed": (
            {"seeding": "fresh", "noise_seed": 5}, alone("noise 5 3", seed=derive(7, "noise", 5, 3))
        ),
    }  # fmt: skip
    for name, (where, one) in [*expected.items(), *further.items()]:
        for variable, of in ((name, "llc"), (f"{name}_se", "llc_se")):
            np.testing.assert_array_equal(full[variable].sel(where), one[of].item(), err_msg=variable)
            assert full[variable].attrs["long_name"] and full[variable].attrs["units"] == "1"
    assert ds["component"].values.tolist() == ["full", "0:0"]
    np.testing.assert_array_equal(
        ds["llc"].sel(component="0:0"), alone(component="0:0", n_beta=50.0)["llc"].item()
    )
    rise = alone()["loss"] - alone()["loss_at_center"]
    np.testing.assert_array_equal(full["paired_loss"], rise[0].astype(np.float32))
    dims = {"evaluation": ["same", "new"], "seeding": ["shared", "fresh"]} | {"batch_size": [4, 8]}
    assert {name: ds[name].values.tolist() for name in dims} == dims


def test_seeds_shared_by_all_checkpoints_share_noise_and_minibatches():
    one, other = (measured(step)["llc_by_noise_seed"] for step in (3, 4))
    np.testing.assert_array_equal(one.sel(seeding="shared"), other.sel(seeding="shared"))
    assert (one.sel(seeding="fresh") != other.sel(seeding="fresh")).all()


@pytest.mark.parametrize("size", [6, 36, 0])
def test_a_data_set_size_that_cannot_be_had_is_refused(size):
    with pytest.raises(ValueError, match="multiple of the batch size 4, at most 32"):
        measured(dataset_sizes=[size])


LAW = {"dimension": 2, "length": 3, "noise_variance": 0.125, "tasks": None, "task_seed": 0}
SEQUENCES = blocks(60, seed=1, **LAW)


HELD_OUT = InMemoryData(held_out=SEQUENCES, stream=7)


def test_one_prediction_of_each_context_has_the_mean_loss_of_shorter_contexts():
    """A sequence of which pair k is predicted is one that ends at x_k: what comes later is not seen."""
    shape = model(n_layers=2, n_heads=2, d_model=8, d_head=4, context=6, d_vector=3)
    weights = shape.initial_weights(seed=3)
    (batch,) = HELD_OUT.batches("one", count=1, batch_size=40, scored=None)
    ((_, chosen),) = one_prediction_each([batch], seed=2)
    squares = []
    for context, target, k in zip(batch.contexts, batch.targets, chosen.tolist(), strict=True):
        end = 2 * k + 1
        short = batch._replace(
            contexts=context[None, :end], positions=torch.tensor([end - 1]), targets=target[None, k : k + 1]
        )
        squares.append(shape.loss(weights, short))
    found = on_one_prediction(shape)(weights, (batch, chosen))
    torch.testing.assert_close(found, torch.stack(squares).mean())


def test_the_predictions_of_a_likelihood_are_drawn_uniformly_for_every_context():
    batches = HELD_OUT.batches("one", count=150, batch_size=20, scored=None)
    chosen = torch.stack([k for _, k in one_prediction_each(batches, seed=2)])
    shares = torch.stack([(chosen == k).double().mean() for k in range(3)])
    np.testing.assert_allclose(shares, 1 / 3, atol=4 * (2 / 9 / chosen.numel()) ** 0.5)
    together = (chosen[:, 0] == chosen[:, 1]).double().mean()  # contexts of a batch are independent
    assert float(together) == pytest.approx(1 / 3, abs=4 * (2 / 9 / len(batches)) ** 0.5)
    again = torch.stack([k for _, k in one_prediction_each(batches, seed=2)])
    assert torch.equal(chosen, again)


def test_a_likelihood_is_the_base_setting_with_one_prediction_of_each_context():
    shape = model(n_layers=1, n_heads=2, d_model=8, d_head=4, context=6, d_vector=3)
    weights, base = shape.initial_weights(seed=3), BASE | {"batch_size": 4, "scored_positions": None}
    few = {"dataset_sizes": [8], "batch_sizes": [4], "noise_seeds": [0]}
    given = {"components": ["full"], "settings": {"full": base}, **few, **EXTENT}
    plain = dependence(HELD_OUT, **given)(weights, shape, 3)
    both = dependence(HELD_OUT, **given, likelihood=True)(weights, shape, 3)
    assert not [name for name in plain if "likelihood" in name]
    assert both[[*plain]].identical(plain)
    batches = HELD_OUT.batches("draws", count=8, batch_size=4, scored=None)
    chosen = one_prediction_each(batches, seed=derive(7, "one prediction"))
    setting = replace(SETTING, seed=derive(7, 3))
    loss = on_one_prediction(shape)
    alone = estimate_components(loss, weights, chosen, components={"full": None}, setting=setting)
    np.testing.assert_array_equal(both["llc_likelihood"], alone["llc"])
    np.testing.assert_array_equal(both["llc_likelihood_se"], alone["llc_se"])
    rise = (alone["loss"] - alone["loss_at_center"]).astype(np.float32)
    np.testing.assert_array_equal(both["paired_loss_likelihood"], rise)
    assert both["paired_loss_likelihood"].attrs["units"] == "nats/token"
