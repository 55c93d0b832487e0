from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from rllc.estimator.llc import estimate_components
from rllc.measures.dependence import by_batch_size, by_dataset_size, by_noise_seed, on_new_batches
from rllc.setting import Setting

MASKS = {"w": {"w": torch.ones(3, dtype=torch.bool)}}
SETTING = Setting(
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


def test_a_data_set_of_few_contexts_is_seen_again_and_again():
    found = by_dataset_size(SAME, BATCHES, batch_size=4, sizes=[8, 32], setting=SETTING)
    again = SAME(batches=[BATCHES[i % 2] for i in range(8)], setting=SETTING)
    np.testing.assert_array_equal(found["llc_by_dataset_size"].sel(dataset_size=8), again["llc"])
    np.testing.assert_array_equal(
        found["llc_by_dataset_size_se"].sel(dataset_size=32), SAME(batches=BATCHES, setting=SETTING)["llc_se"]
    )


@pytest.mark.parametrize("size", [6, 36, 0])
def test_a_data_set_size_that_cannot_be_had_is_refused(size):
    with pytest.raises(ValueError, match="multiple of the batch size 4, at most 32"):
        by_dataset_size(SAME, BATCHES, batch_size=4, sizes=[size], setting=SETTING)


def test_batch_sizes_and_seeds_have_their_dims():
    found = by_batch_size(
        SAME, NEW, batches={4: BATCHES, 8: OTHERS}, new_batches={4: OTHERS, 8: BATCHES}, setting=SETTING
    )
    assert dict(found["llc_by_batch_size"].sizes) == {"evaluation": 2, "batch_size": 2, "component": 1}
    same = SAME(batches=OTHERS, setting=SETTING)["llc"]
    np.testing.assert_array_equal(found["llc_by_batch_size"].sel(evaluation="same", batch_size=8), same)
    new = NEW(batches=list(zip(OTHERS, BATCHES, strict=True)), setting=SETTING)["llc"]
    np.testing.assert_array_equal(found["llc_by_batch_size"].sel(evaluation="new", batch_size=8), new)
    seeds = [replace(SETTING, seed=seed) for seed in range(5)]
    shared = {0: {"batches": BATCHES, "setting": seeds[1]}, 5: {"batches": BATCHES, "setting": seeds[2]}}
    fresh = {0: {"batches": OTHERS, "setting": seeds[3]}, 5: {"batches": OTHERS, "setting": seeds[4]}}
    found = by_noise_seed(SAME, shared=shared, fresh=fresh)
    np.testing.assert_array_equal(found["llc_by_noise_seed"].sel(seeding="fresh", noise_seed=5), same)
    assert found["llc_by_noise_seed"].attrs["units"] == "1"
