import dataclasses
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from rllc.estimator import control_variate, fast_heads
from rllc.estimator.fast_heads import estimate_heads
from rllc.estimator.kernels import at_center, attention
from rllc.estimator.llc import estimate
from rllc.models.attention_only import AttentionOnly
from rllc.models.components import masks
from rllc.models.device import product_precision
from rllc.models.loss import next_token_loss
from rllc.models.model import TaughtBatches
from rllc.models.transformer import Architecture, shapes
from rllc.sampler_config import SamplerConfig
from rllc.tasks.batch import Examples, batches_of
from rllc.vocabulary import head_labels

SMALL = Architecture(n_layers=2, n_heads=2, d_model=12, d_head=5, n_ctx=9, d_vocab=17)
SETTING = SamplerConfig(n_beta=300.0, localization=20.0, step_size=2e-3, chains=2, draws=5, seed=4)


def model(architecture, seed=0, dtype=torch.float32):
    random = torch.Generator().manual_seed(seed)
    return {
        name: (0.4 * torch.randn(shape, generator=random) + (1.0 if name.endswith(".w") else 0.0)).to(dtype)
        for name, shape in shapes(architecture).items()
    }


def language(architecture, scored=4, count=3, batch_size=3):
    random = np.random.default_rng(0)
    contexts = random.integers(0, architecture.d_vocab, (20, architecture.n_ctx))
    return batches_of(Examples(contexts), batch_size=batch_size, count=count, scored=scored, random=random)


def both(
    architecture, batches, *, dtype=torch.float32, max_memory=None, init_batches=None, pair_batches=None,
    **changes,
):  # fmt: skip
    weights, setting = model(architecture, dtype=dtype), replace(SETTING, **changes)
    rest = {"init_batches": init_batches, "pair_batches": pair_batches}
    how = {"setting": setting, **rest}
    fast = estimate_heads(weights, architecture, batches, max_memory=max_memory, **how)
    components = {
        label: masks(label, architecture)
        for label in head_labels(architecture.n_layers, architecture.n_heads)
    }
    slow = estimate(
        next_token_loss(architecture), weights, batches, components=components, **rest, **asdict(setting),
    )  # fmt: skip
    return fast, slow


def assert_same(fast, slow, tolerance=1e-4):
    assert fast.component.values.tolist() == slow.component.values.tolist()
    rise, expected = fast.loss - fast.loss_at_center, slow.loss - slow.loss_at_center
    np.testing.assert_allclose(fast.loss_at_center, slow.loss_at_center, rtol=tolerance)
    assert float(abs(expected[..., 1:]).min()) > 1e-5  # the chains have moved
    assert float(abs(rise - expected).max()) < tolerance * float(abs(expected).max())
    for name in ("llc", "llc_se", "llc_chain", "ess", "acceptance"):
        np.testing.assert_allclose(fast[name], slow[name], rtol=20 * tolerance, err_msg=name)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("positions", ["shortformer", "standard"])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_every_head_is_sampled_as_by_the_generic_path(n_layers, norm, positions, soft):
    architecture = dataclasses.replace(SMALL, n_layers=n_layers, layer_norm=norm, positions=positions)
    batches = language(architecture)
    if soft:
        batches = TaughtBatches(batches, model(architecture, 1, torch.float64), AttentionOnly(architecture))
    assert_same(*both(architecture, batches, dtype=torch.float64), tolerance=1e-8)


@pytest.mark.parametrize("further", [False, True])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_pairs_of_heads_are_those_of_the_generic_path(n_layers, further):
    architecture = dataclasses.replace(SMALL, n_layers=n_layers)
    more = language(architecture, count=8) if further else None
    changes = {
        "n_beta": 10.0,
        "localization": 200.0,
        "chains": 4,
        "draws": 6,
        "burn_in": 2,
        "antithetic_pairs": 4,
    }
    fast, slow = both(architecture, language(architecture), dtype=torch.float64, pair_batches=more, **changes)
    assert (fast.control_coefficient > 0).all()
    for name in control_variate.VARIABLES:
        np.testing.assert_allclose(fast[name], slow[name], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("n_layers", [1, 2])
def test_tokens_that_occur_often_are_looked_up(n_layers, monkeypatch):
    seen = []
    original = at_center.what_heads_read
    monkeypatch.setattr(at_center, "what_heads_read", lambda *a: seen.append(original(*a)) or seen[-1])
    architecture = dataclasses.replace(SMALL, n_layers=n_layers, d_vocab=2)
    assert_same(
        *both(architecture, language(architecture, batch_size=12), dtype=torch.float64), tolerance=1e-8
    )
    assert seen[0].lookup is not None and len(seen[0].key) <= 2 * SMALL.n_ctx


@pytest.mark.parametrize("scored", [4, None])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_fused_attention(monkeypatch, n_layers, scored):
    monkeypatch.setattr(attention, "FUSED_FROM", 1)
    architecture = dataclasses.replace(SMALL, n_layers=n_layers)
    assert_same(*both(architecture, language(architecture, scored), dtype=torch.float64), tolerance=1e-8)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("max_memory", [None, 3000, 1])
def test_chains_together_are_chains_one_by_one(n_layers, max_memory):
    architecture = dataclasses.replace(SMALL, n_layers=n_layers)
    weights, heads = model(architecture, dtype=torch.float64), head_labels(n_layers, 2)
    one, all_ = (
        fast_heads.sample_heads(
            weights, architecture, language(architecture), heads=heads, together=together,
            max_memory=max_memory, setting=replace(SETTING, chains=3),
        )
        for together in (False, True)
    )  # fmt: skip
    for name in ("loss", "at_center", "acceptance"):
        torch.testing.assert_close(
            getattr(one, name), getattr(all_, name), rtol=1e-9, atol=1e-12, equal_nan=True
        )


@pytest.mark.parametrize("gradient", [True, False])
def test_thinning_is_that_of_the_generic_path(gradient):
    fast, slow = both(SMALL, language(SMALL), dtype=torch.float64, thinning=2, gradient=gradient)
    assert_same(fast, slow, tolerance=1e-8)
    every = estimate_heads(
        model(SMALL, dtype=torch.float64), SMALL, language(SMALL),
        setting=replace(SETTING, draws=9, gradient=gradient),
    )  # fmt: skip
    assert np.array_equal(fast.loss, every.loss[..., ::2])


@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("thinning", [1, 2])
def test_rmsprop_on_heads_is_that_of_the_generic_path(gradient, thinning):
    law = {"sampler": "rmsprop", "sampler_options": {"decay": 0.9, "stabilizer": 0.5}}
    given = {"dtype": torch.float64, "thinning": thinning, "gradient": gradient, **law}
    fast, slow = both(SMALL, language(SMALL), **given)
    assert_same(fast, slow, tolerance=1e-8)
    plain, _ = both(SMALL, language(SMALL), **given | {"sampler": "sgld", "sampler_options": {}})
    assert float(abs(plain.llc - fast.llc).min()) > 1e-3
    if gradient:
        how = {"setting": replace(SETTING, thinning=thinning, **law), "control_of": fast}
        control = estimate_heads(model(SMALL, dtype=torch.float64), SMALL, language(SMALL), **how)
        off, _ = both(SMALL, language(SMALL), **given | {"gradient": False})
        np.testing.assert_allclose(control.llc_chain, off.llc_chain, rtol=1e-8)


def test_lower_precision_on_request_is_close_and_undone():
    batches = language(SMALL)
    exact = estimate_heads(model(SMALL), SMALL, batches, setting=SETTING)
    before = torch.get_float32_matmul_precision()
    with torch.autocast("cpu", torch.bfloat16):
        rounded = estimate_heads(model(SMALL), SMALL, batches, setting=SETTING)
    assert torch.get_float32_matmul_precision() == before
    np.testing.assert_allclose(rounded.llc, exact.llc, rtol=0.05)


# The second is long and wide enough for fused attention.
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("shape", [{}, {"n_ctx": 160, "d_head": 32}])
def test_a_gpu_computes_what_a_cpu_does(shape):
    architecture = dataclasses.replace(SMALL, **shape)
    loss, place = next_token_loss(architecture), lambda batch: type(batch)(*(part.cuda() for part in batch))
    on_cpu = language(architecture, scored=None)
    weights = {name: w.cuda() for name, w in model(architecture, dtype=torch.float64).items()}
    given = (architecture, [place(batch) for batch in on_cpu])
    fast = estimate_heads(weights, *given, setting=SETTING)
    components = {label: masks(label, architecture) for label in head_labels(2, 2)}
    slow = estimate(loss, weights, given[1], components=components, **asdict(SETTING))
    assert_same(fast, slow, tolerance=1e-8)
    cpu = estimate_heads(model(architecture, dtype=torch.float64), architecture, on_cpu, setting=SETTING)
    np.testing.assert_allclose(fast.loss[..., 0], cpu.loss[..., 0])  # the noise is another
    single = {name: w.float() for name, w in weights.items()}  # and that of fp32 is not that of fp64
    exact = estimate_heads(single, *given, setting=SETTING)
    with product_precision("tf32"):
        rounded = estimate_heads(single, *given, setting=SETTING)
    np.testing.assert_allclose(rounded.llc, exact.llc, rtol=0.02)


def test_float_tolerance_in_single_precision():
    assert_same(*both(SMALL, language(SMALL)))


def test_all_positions_scored_and_a_tight_memory_bound():
    assert_same(*both(SMALL, language(SMALL, scored=None), max_memory=300))
    assert_same(*both(SMALL, language(SMALL), max_memory=1))


def test_control_without_the_gradient():
    fast, slow = both(SMALL, language(SMALL), gradient=False)
    assert_same(fast, slow)
    on = estimate_heads(model(SMALL), SMALL, language(SMALL), setting=SETTING)
    assert float(abs(on.llc - fast.llc).min()) > 1e-3


@pytest.mark.parametrize("thinning", [1, 2])
def test_the_drift_free_control(thinning):
    fast, slow = both(SMALL, language(SMALL, count=9), drift_free=True, thinning=thinning, burn_in=1)
    assert_same(fast, slow)
    setting = replace(SETTING, thinning=thinning, burn_in=1)
    given = (model(SMALL), SMALL, language(SMALL, count=9))
    on = estimate_heads(*given, setting=setting)
    assert float(abs(on.llc - fast.llc).min()) > 1e-3
    control = estimate_heads(*given, setting=replace(setting, drift_free=True), control_of=on)
    np.testing.assert_allclose(control.llc_chain, fast.llc_chain, rtol=1e-6)
    np.testing.assert_allclose(control.acceptance, fast.acceptance, rtol=1e-6)


@pytest.mark.parametrize("thinning", [1, 2])
def test_a_control_takes_what_is_known_at_the_centre_from_its_estimate(thinning, monkeypatch):
    setting = replace(SETTING, burn_in=2, thinning=thinning)
    given, how = (model(SMALL), SMALL, language(SMALL, count=9)), {"init_batches": language(SMALL, count=1)}
    on = estimate_heads(*given, setting=setting, **how)
    alone = estimate_heads(*given, setting=replace(setting, gradient=False), **how)
    passes, forward = [], fast_heads.forward_at_center
    monkeypatch.setattr(fast_heads, "forward_at_center", lambda *a: passes.append(1) or forward(*a))
    control = estimate_heads(*given, setting=replace(setting, chains=1), **how, control_of=on)
    assert len(passes) == 5 - 2  # draws kept
    assert control.loss.isel(draw=slice(2)).isnull().all()
    # One chain and two are products of other sizes, which threads sum in another order: float32 to 1e-5.
    np.testing.assert_allclose(control.loss[..., 2:], alone.loss[:, :1, 2:], rtol=1e-5)
    np.testing.assert_allclose(control.loss_at_center, alone.loss_at_center, rtol=1e-5)
    np.testing.assert_allclose(control.init_loss, alone.init_loss, rtol=1e-5)
    room = setting.n_beta * 1e-5 * float(alone.loss.max())  # of n_beta times a difference of such losses
    np.testing.assert_allclose(control.llc_chain, alone.llc_chain[:, :1], rtol=0, atol=room)
    assert room < 0.05 * float(np.abs(alone.llc_chain).max()), "so that another draw is told apart"
    assert (control.status == 0).all()
    with pytest.raises(ValueError, match="control_of has draws 5, expected was 4"):
        estimate_heads(*given, setting=replace(setting, draws=4), control_of=on)


def test_chosen_heads_and_fewer_chains_are_the_same_draws():
    batches = language(SMALL)
    everything = estimate_heads(model(SMALL), SMALL, batches, setting=SETTING)
    some = estimate_heads(model(SMALL), SMALL, batches, heads=["1:1", "0:1"], setting=SETTING)
    assert np.array_equal(everything.loss.sel(component=["1:1", "0:1"]), some.loss)
    one = estimate_heads(model(SMALL), SMALL, batches, setting=replace(SETTING, chains=1))
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

    estimate_heads(model(SMALL), SMALL, Lazy(language(SMALL)), setting=SETTING)
    assert asked == [0, 1, 2, 0, 1]


def test_weights_are_left_alone():
    weights = model(SMALL)
    before = {name: w.clone() for name, w in weights.items()}
    estimate_heads(weights, SMALL, language(SMALL), setting=SETTING)
    assert all(torch.equal(weights[name], before[name]) for name in weights)


def test_weights_of_another_shape_are_refused():
    weights, batches = model(SMALL), language(SMALL)
    with pytest.raises(ValueError, match=r"unembed\.b_U is missing"):
        estimate_heads(
            {n: w for n, w in weights.items() if n != "unembed.b_U"}, SMALL, batches, setting=SETTING
        )
    with pytest.raises(ValueError, match=r"b_Q is \[2, 5\] instead of \[2, 4\]"):
        estimate_heads(weights, dataclasses.replace(SMALL, d_head=4), batches, setting=SETTING)


def test_what_else_is_among_the_weights_is_left_alone():
    more = model(SMALL) | {"blocks.0.attn.mask": torch.ones(9, 9, dtype=torch.bool)}
    fast, slow = (estimate_heads(w, SMALL, language(SMALL), setting=SETTING) for w in (more, model(SMALL)))
    assert np.array_equal(fast.loss, slow.loss)


def test_a_loss_that_is_not_finite_at_the_centre_is_refused():
    weights = model(SMALL)
    weights["unembed.W_U"] = weights["unembed.W_U"] * 1e38
    with pytest.raises(ValueError, match="the loss at the centre is"):
        estimate_heads(weights, SMALL, language(SMALL), setting=SETTING)


@pytest.mark.parametrize("gradient", [True, False])
def test_a_later_batch_whose_loss_is_not_finite_at_the_centre_is_refused(gradient):
    weights, batches = model(SMALL), language(SMALL)
    wrong = torch.full((*batches[1].targets.shape, SMALL.d_vocab), float("nan"))
    spoiled = [batches[0], batches[1]._replace(targets=wrong), batches[2]]
    with pytest.raises(ValueError, match="the loss at the centre is nan on one of the batches"):
        estimate_heads(weights, SMALL, spoiled, setting=replace(SETTING, gradient=gradient))


def test_a_label_out_of_an_array_has_the_noise_of_its_name():
    weights, batches = model(SMALL), language(SMALL)
    of_array = estimate_heads(weights, SMALL, batches, heads=list(np.array(["0:1"])), setting=SETTING)
    plain = estimate_heads(weights, SMALL, batches, heads=["0:1"], setting=replace(SETTING, seed=np.int64(4)))
    np.testing.assert_array_equal(of_array.loss, plain.loss)
