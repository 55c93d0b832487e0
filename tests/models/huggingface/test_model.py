"""Models of transformers as functions of their weights, for many architectures."""

import numpy as np
import pytest
import torch
from tiny_transformers import MODELS, tiny_model, tokens_of

import rllc
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.tasks.batch import next_token_batch
from rllc.tasks.language.tokenizer import learnt


def batch_of(tokens, positions=None):
    where = np.arange(tokens.shape[1] - 1) if positions is None else np.asarray(positions)
    return next_token_batch(tokens.numpy(), where)


@pytest.mark.parametrize("name", MODELS)
def test_loss_equals_that_of_transformers(name):
    module = tiny_model(name)
    model, tokens = HuggingFaceModel(module), tokens_of(module)
    with torch.no_grad():
        own = module(input_ids=tokens, labels=tokens).loss
        assert abs(model.loss(model.weights(), batch_of(tokens)) - own) < 1e-5
        logits = module(input_ids=tokens).logits
        some = model.outputs(model.weights(), batch_of(tokens, [1, 6]))
    torch.testing.assert_close(some, logits[:, [1, 6]], rtol=1e-5, atol=1e-5)
    assert model.keeps_logits


def test_loss_of_other_weights_is_that_of_a_module_that_has_them():
    module, other = tiny_model("gpt_neox"), tiny_model("gpt_neox", seed=1)
    tokens = tokens_of(module)
    with torch.no_grad():
        own = other(input_ids=tokens, labels=tokens).loss
        found = HuggingFaceModel(module).loss(HuggingFaceModel(other).weights(), batch_of(tokens))
    assert abs(found - own) < 1e-5


def test_context_losses_are_means_over_scored_positions():
    module = tiny_model("llama")
    model, tokens = HuggingFaceModel(module), tokens_of(module)
    each = model.context_losses(model.weights(), batch_of(tokens, [2, 3]))
    assert each.shape == (4,)
    torch.testing.assert_close(each.mean(), model.loss(model.weights(), batch_of(tokens, [2, 3])))
    alone = model.loss(model.weights(), batch_of(tokens[1:2], [2, 3]))
    torch.testing.assert_close(each[1], alone, rtol=1e-5, atol=1e-6)


def test_logits_to_keep_that_changes_logits_is_left_out_and_logged(caplog):
    module = tiny_model("gpt_neox")
    plain = module.forward

    def forward(input_ids, use_cache=False, logits_to_keep=0, **rest):
        out = plain(input_ids=input_ids, use_cache=use_cache, logits_to_keep=logits_to_keep, **rest)
        if isinstance(logits_to_keep, torch.Tensor):
            out.logits = out.logits * 1.1
        return out

    module.forward = forward
    model, tokens = HuggingFaceModel(module), tokens_of(module)
    assert not model.keeps_logits
    assert "logits_to_keep" in caplog.text
    with torch.no_grad():
        expected = plain(input_ids=tokens).logits[:, [3]]
        torch.testing.assert_close(model.outputs(model.weights(), batch_of(tokens, [3])), expected)


def test_tied_weights_are_given_once():
    model = HuggingFaceModel(tiny_model("gpt2"))
    assert "lm_head.weight" not in model.weights()
    tokens = tokens_of(model.module)
    twice = model.weights() | {"lm_head.weight": model.weights()["transformer.wte.weight"]}
    with pytest.raises(ValueError, match=r"lm_head\.weight is unknown, or tied"):
        model.loss(twice, batch_of(tokens))


def test_unknown_and_missing_names_of_weights_are_refused():
    model = HuggingFaceModel(tiny_model("gpt_neox"))
    tokens, weights = tokens_of(model.module), model.weights()
    with pytest.raises(ValueError, match="nothing is unknown"):
        model.loss(weights | {"nothing": torch.zeros(1)}, batch_of(tokens))
    name = next(iter(weights))
    with pytest.raises(ValueError, match=f"{name} is missing"):
        model.loss({each: weight for each, weight in weights.items() if each != name}, batch_of(tokens))


def test_initial_weights_are_those_of_transformers_and_leave_the_random_state_alone():
    from transformers import AutoModelForCausalLM

    model = HuggingFaceModel(tiny_model("gpt2"))
    before = torch.random.get_rng_state()
    found = model.initial_weights(seed=3)
    assert torch.equal(torch.random.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        expected = AutoModelForCausalLM.from_config(model.module.config)
    assert found.keys() == model.shapes().keys()
    assert all(torch.equal(weight, found[name]) for name, weight in expected.named_parameters())


@pytest.mark.parametrize(("name", "label"), [("gpt_neox", "1:3"), ("llama_groups", "group:1:1")])
def test_hessian_trace_by_head_or_group(name, label):
    model = HuggingFaceModel(tiny_model(name))
    tokens = tokens_of(model.module, 8).numpy()
    found = rllc.measure(
        "hessian",
        model,
        model.weights(),
        tokens,
        batch_size=4,
        contexts_at_once=4,
        probes=2,
        scored_positions=None,
    )
    assert found["head"].values.tolist() == model.heads
    last = found.isel(head=-1)
    assert (last["head"].item(), last["layer"].item(), last["head_index"].item()) == (
        label,
        1,
        int(label[-1]),
    )
    assert np.isfinite(found["hessian_trace_head"]).all()


@pytest.mark.parametrize(
    ("measure", "settings"),
    [
        ("eigenvalues", {"contexts": 4, "count": 1, "scored_positions": None, "tolerance": 0.5}),
        (
            "metrics",
            {"contexts": 16, "batch_size": 4, "accuracy": True, "icl_early": [1, 2], "icl_late": [5, 6]},
        ),
        (
            "hessian_rank",
            {
                "contexts": 4,
                "scored_positions": 2,
                "probes": 2,
                "degree": 4,
                "bounds": [-99.0, 99.0],
                "threshold": 0.1,
                "adaptive_bound": 1.1,
                "adaptive_threshold": 0.1,
            },
        ),
        ("token_losses", {"contexts": 16, "batch_size": 5}),
    ],
)
def test_measures_take_the_model(measure, settings):
    model = HuggingFaceModel(tiny_model("gpt_neox"))
    data = rllc.InMemoryData(held_out=tokens_of(model.module, 16).numpy(), tokenizer=learnt([], 257))
    found = rllc.measure(measure, model, model.weights(), data, **settings)
    assert all(np.isfinite(found[name]).all() for name in found)


def test_train_mode_short_types_and_other_modules_are_refused():
    with pytest.raises(ValueError, match=r"train mode.*model\.eval\(\)"):
        HuggingFaceModel(tiny_model("gpt2").train())
    with pytest.raises(ValueError, match=r"torch\.float16.*float32"):
        HuggingFaceModel(tiny_model("gpt2").half())
    with pytest.raises(ValueError, match=r"expected a causal language model of transformers.*rllc\.estimate"):
        HuggingFaceModel(torch.nn.Linear(2, 2))


def test_eager_attention_has_second_derivatives():
    model = HuggingFaceModel(tiny_model("gpt_neox"))
    batch, weights = batch_of(tokens_of(model.module)), model.weights()
    name = "gpt_neox.layers.0.attention.query_key_value.weight"

    def loss(weight):
        return model.loss(weights | {name: weight}, batch)

    direction = torch.ones_like(weights[name])
    _, product = torch.autograd.functional.vhp(loss, weights[name], direction)
    assert product.abs().sum() > 0
