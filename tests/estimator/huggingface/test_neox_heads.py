"""Losses of single heads of GPT-NeoX against transformers' own module."""

import numpy as np
import pytest
import torch
from tiny_transformers import tiny_model, tokens_of, trained_model

import rllc
from rllc.estimator.huggingface import neox_heads
from rllc.estimator.huggingface.neox_heads import NeoxHeads, missing
from rllc.estimator.huggingface.paths import losses_around
from rllc.estimator.llc import estimate_components
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.seeds import generator
from rllc.tasks.batch import Batch, Examples, batches_of

LABELS = ["0:0", "0:3", "1:0", "1:2", "2:1"]
SETTING = rllc.SamplerConfig(n_beta=30, localization=200, step_size=1e-3, chains=2, draws=3)
MADE = pytest.mark.parametrize("made", [tiny_model, trained_model], ids=["random", "trained"])


def three_layers(made=tiny_model, **changes):
    return made("gpt_neox", num_hidden_layers=3, **changes)


def plain_estimate(model, tokens, setting, *, scored=None, **rest):
    batches = batches_of(
        Examples(tokens.numpy()), batch_size=4, count=setting.moves + 1, scored=scored,
        random=generator(0, "minibatches"),
    )  # fmt: skip
    masks = {label: model.masks(label) for label in LABELS}
    return estimate_components(
        model.loss, model.weights(), batches, components=masks, setting=setting, **rest
    )


def is_of_kernel(loss):
    return isinstance(getattr(getattr(loss, "func", None), "__self__", None), NeoxHeads)


@MADE
@pytest.mark.parametrize("low_rank", [True, False])
@pytest.mark.parametrize(("vectorize", "scored"), [(True, 3), (False, None)])
def test_draws_equal_those_of_the_plain_loss(made, scored, low_rank, vectorize, monkeypatch):
    calls, plain = [], neox_heads.low_rank_loss
    monkeypatch.setattr(neox_heads, "NARROW", 0 if low_rank else 10**6)
    monkeypatch.setattr(neox_heads, "low_rank_loss", lambda *given: calls.append(given) or plain(*given))
    module = three_layers(made)
    model, tokens = HuggingFaceModel(module), tokens_of(module, 12)
    found = rllc.estimate_heads(
        module, tokens, setting=SETTING, components=LABELS, batch_size=4, scored_positions=scored,
        vectorize=vectorize,
    )  # fmt: skip
    assert bool(calls) == low_rank
    expected = plain_estimate(model, tokens, SETTING, scored=scored)
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)
    np.testing.assert_allclose(found["acceptance"], expected["acceptance"], rtol=1e-2)


@pytest.mark.parametrize(
    "changes",
    [{}, {"attention_bias": False}, {"tie_word_embeddings": True}],
    ids=["plain", "no bias", "tied"],
)
def test_gradient_equals_the_plain_one_with_key_biases(changes):
    module = three_layers(**changes)
    model = HuggingFaceModel(module)
    weights, masks = model.weights(), {label: model.masks(label) for label in LABELS}
    _, losses = losses_around(model, weights, masks)
    assert all(map(is_of_kernel, losses.values()))
    tokens = tokens_of(module)
    batch = Batch(tokens, torch.tensor([0, 3, 7]), tokens[:, [1, 4, 8]])
    random = torch.Generator().manual_seed(1)
    for label, loss in losses.items():
        moved = {
            name: weights[name] + 0.2 * torch.randn(mask.shape, generator=random) * mask
            for name, mask in masks[label].items()
        }
        leaves = [weight.requires_grad_() for weight in moved.values()]
        expected = torch.autograd.grad(model.loss(weights | moved, batch), leaves)
        found = torch.autograd.grad(loss(weights | moved, batch), leaves)
        for (name, mask), one, other in zip(masks[label].items(), found, expected, strict=True):
            error = (one - other)[mask].abs().max() / other[mask].abs().max()
            assert error < 1e-4, (label, name)
        if not changes:
            rows = masks[label][f"gpt_neox.layers.{label[0]}.attention.query_key_value.bias"]
            assert expected[list(moved).index(next(n for n in moved if n.endswith("value.bias")))][rows][
                8:16
            ].any()


def test_controls_and_pairs_equal_those_of_the_plain_loss():
    module = three_layers()
    tokens = tokens_of(module, 12)
    setting = rllc.SamplerConfig(
        n_beta=30, localization=200, step_size=1e-3, chains=4, draws=6, burn_in=1, antithetic_pairs=2
    )
    given = {"components": LABELS, "batch_size": 4}
    found = rllc.estimate_heads(module, tokens, setting=setting, report_control=True, **given)
    expected = plain_estimate(HuggingFaceModel(module), tokens, setting, report_control=True)
    for name in ("loss", "llc_prior_only_chain", "llc_prior_only"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-3, atol=1e-4)
    flat = rllc.SamplerConfig(n_beta=30, localization=200, step_size=1e-3, chains=2, draws=4, drift_free=True)
    drift_free = rllc.estimate_heads(module, tokens, setting=flat, **given)
    expected = plain_estimate(HuggingFaceModel(module), tokens, flat)
    np.testing.assert_allclose(drift_free["loss"], expected["loss"], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("gpt2", {}, "GPT2LMHeadModel, not a"),
        ("gpt_neox_sequential", {}, "use_parallel_residual is False"),
    ],
)
def test_other_models_are_refused_with_the_reason(name, changes, reason):
    assert reason in missing(HuggingFaceModel(tiny_model(name, **changes)))


def test_sdpa_and_other_norms_are_refused_with_the_reason():
    module = tiny_model("gpt_neox")
    assert missing(HuggingFaceModel(module)) is None
    module.set_attn_implementation("sdpa")
    assert "sdpa, not eager" in missing(HuggingFaceModel(module))
    other = tiny_model("gpt_neox")
    other.gpt_neox.final_layer_norm = torch.nn.RMSNorm(32)
    assert "not layer norms" in missing(HuggingFaceModel(other))
    derived = tiny_model("gpt_neox")
    derived.__class__ = type("Derived", (type(derived),), {})
    assert "Derived, not a" in missing(HuggingFaceModel(derived))


def test_changed_layer_leaves_the_kernel_out_and_is_logged_once(caplog):
    module = three_layers()
    layer = module.gpt_neox.layers[1]
    plain = layer.forward
    layer.forward = lambda hidden, **named: plain(hidden, **named).tanh()
    model = HuggingFaceModel(module)
    masks = {label: model.masks(label) for label in LABELS}
    _, losses = losses_around(model, model.weights(), masks)
    assert {label: is_of_kernel(loss) for label, loss in losses.items()} == {
        "0:0": True, "0:3": True, "1:0": False, "1:2": False, "2:1": True,
    }  # fmt: skip
    assert len(caplog.messages) == 1
    assert "heads of layer 1 run GPTNeoXForCausalLM's own layers" in caplog.text


def test_unions_of_heads_and_other_parts_are_not_of_the_kernel():
    model = HuggingFaceModel(three_layers())
    masks = {label: model.masks(label) for label in ("1:0+1:1", "1:0+mlp:2", "mlp:1")}
    _, losses = losses_around(model, model.weights(), masks)
    assert not any(map(is_of_kernel, losses.values()))


def test_logits_that_would_not_fit_come_in_blocks(monkeypatch):
    monkeypatch.setattr(neox_heads, "NARROW", 0)
    monkeypatch.setattr(neox_heads, "LARGEST", 4 * 8 * 53 * 4 - 1)
    monkeypatch.setattr(neox_heads, "low_rank_loss", None)
    module = three_layers()
    found = rllc.estimate_heads(module, tokens_of(module), setting=SETTING, components=["2:1"], batch_size=4)
    assert np.isfinite(found["llc"]).all()
