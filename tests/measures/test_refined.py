import dataclasses

import numpy as np
import pytest
import torch

from rllc.measures.llc import estimate
from rllc.measures.refined import estimate_heads
from rllc.models.components import masks
from rllc.models.loss import TaughtBatches, next_token_loss
from rllc.models.transformer import Architecture, shapes
from rllc.tasks.batch import next_token_batches
from rllc.vocabulary import head_labels

SMALL = Architecture(n_layers=2, n_heads=2, d_model=12, d_head=5, n_ctx=9, d_vocab=17)
SETTING = {"n_beta": 300.0, "localization": 20.0, "step_size": 2e-3, "chains": 2, "draws": 5, "seed": 4}


def model(architecture, seed=0, dtype=torch.float32):
    random = torch.Generator().manual_seed(seed)
    return {
        name: (0.4 * torch.randn(shape, generator=random) + (1.0 if name.endswith(".w") else 0.0)).to(dtype)
        for name, shape in shapes(architecture).items()
    }


def language(architecture, scored=4, count=3):
    random = np.random.default_rng(0)
    contexts = random.integers(0, architecture.d_vocab, (20, architecture.n_ctx))
    return next_token_batches(contexts, batch_size=3, count=count, scored=scored, random=random)


def both(architecture, batches, *, heads=None, dtype=torch.float32, **changes):
    weights = model(architecture, dtype=dtype)
    setting = {**SETTING, **changes}
    fast = estimate_heads(weights, architecture, batches, heads=heads, **setting)
    setting.pop("max_memory", None)
    labels = heads or head_labels(architecture.n_layers, architecture.n_heads)
    components = {label: masks(label, architecture) for label in labels}
    slow = estimate(next_token_loss(architecture), weights, batches, components=components, **setting)
    return fast, slow


def assert_same(fast, slow, tolerance=1e-4):
    assert fast.component.values.tolist() == slow.component.values.tolist()
    rise, expected = fast.loss - fast.loss_at_center, slow.loss - slow.loss_at_center
    np.testing.assert_allclose(fast.loss_at_center, slow.loss_at_center, rtol=tolerance)
    assert float(abs(expected[..., 1:]).min()) > 1e-5  # the chains have moved
    assert float(abs(rise - expected).max()) < tolerance * float(abs(expected).max())
    for name in ("llc", "llc_se", "llc_chain", "ess"):
        np.testing.assert_allclose(fast[name], slow[name], rtol=20 * tolerance, err_msg=name)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("positions", ["shortformer", "standard"])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_every_head_is_sampled_as_by_the_generic_path(n_layers, norm, positions, soft):
    architecture = dataclasses.replace(SMALL, n_layers=n_layers, layer_norm=norm, positions=positions)
    batches = language(architecture)
    if soft:
        batches = TaughtBatches(batches, model(architecture, 1, torch.float64), architecture)
    assert_same(*both(architecture, batches, dtype=torch.float64), tolerance=1e-8)


def test_float_tolerance_in_single_precision():
    assert_same(*both(SMALL, language(SMALL)))


def test_all_positions_scored_and_a_tight_memory_bound():
    assert_same(*both(SMALL, language(SMALL, scored=None), max_memory=300))
    assert_same(*both(SMALL, language(SMALL), max_memory=1))


def test_control_without_the_gradient():
    fast, slow = both(SMALL, language(SMALL), gradient=False)
    assert_same(fast, slow)
    on = estimate_heads(model(SMALL), SMALL, language(SMALL), **SETTING)
    assert float(abs(on.llc - fast.llc).min()) > 1e-3


def test_chosen_heads_and_fewer_chains_are_the_same_draws():
    batches = language(SMALL)
    everything = estimate_heads(model(SMALL), SMALL, batches, **SETTING)
    some = estimate_heads(model(SMALL), SMALL, batches, heads=["1:1", "0:1"], **SETTING)
    assert np.array_equal(everything.loss.sel(component=["1:1", "0:1"]), some.loss)
    one = estimate_heads(model(SMALL), SMALL, batches, **SETTING | {"chains": 1})
    np.testing.assert_allclose(everything.loss[:, :1], one.loss, rtol=1e-5)


def test_init_baseline_and_burn_in():
    batches = language(SMALL, count=5)
    fast, slow = both(SMALL, batches[:3], baseline="init", init_batches=batches[3:], burn_in=2)
    assert float(fast.init_loss) == pytest.approx(float(slow.init_loss))
    np.testing.assert_allclose(fast.llc, slow.llc, rtol=1e-4)


def test_a_batch_is_asked_for_once_per_draw():
    asked = []

    class Lazy(list):
        def __getitem__(self, index):
            asked.append(index)
            return super().__getitem__(index)

    estimate_heads(model(SMALL), SMALL, Lazy(language(SMALL)), **SETTING)
    assert asked == [0, 1, 2, 0, 1]


def test_weights_are_left_alone():
    weights = model(SMALL)
    before = {name: w.clone() for name, w in weights.items()}
    estimate_heads(weights, SMALL, language(SMALL), **SETTING)
    assert all(torch.equal(weights[name], before[name]) for name in weights)


def test_wrong_arguments_are_refused():
    weights, batches = model(SMALL), language(SMALL)
    for heads in (["2:0"], ["0:0", "0:0"], [], ["full"]):
        with pytest.raises(ValueError, match="expected different labels among 0:0, 0:1, 1:0, 1:1"):
            estimate_heads(weights, SMALL, batches, heads=heads, **SETTING)
    with pytest.raises(ValueError, match=r"lack 'unembed.b_U'"):
        estimate_heads({n: w for n, w in weights.items() if n != "unembed.b_U"}, SMALL, batches, **SETTING)
    with pytest.raises(ValueError, match="the architecture expects"):
        estimate_heads(weights, dataclasses.replace(SMALL, d_head=4), batches, **SETTING)
    with pytest.raises(ValueError, match="no batches"):
        estimate_heads(weights, SMALL, [], **SETTING)
    with pytest.raises(ValueError, match="burn_in"):
        estimate_heads(weights, SMALL, batches, **SETTING | {"burn_in": 5})
