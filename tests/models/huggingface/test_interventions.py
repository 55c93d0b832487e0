"""Outputs of heads and MLPs that are replaced, against copies of the model with other modules in their place."""

import numpy as np
import pytest
import torch
from surgery import losses, with_others, with_output
from tiny_transformers import MODELS, tiny_model, tokens_of

from rllc.models.huggingface.model import HuggingFaceModel
from rllc.tasks.batch import next_token_batch

CLOSE = {"rtol": 0, "atol": 2e-5}  # losses are about 4 nats, in float32
SOME = ["gpt2", "gpt_neox", "llama_groups", "opt", "bloom", "falcon"]


def of(name):
    module = tiny_model(name)
    tokens = tokens_of(module, 4)
    return module, tokens, next_token_batch(tokens.numpy(), np.arange(tokens.shape[1] - 1))


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_output_of_zero_is_a_module_that_writes_nothing_of_it(name):
    module, tokens, batch = of(name)
    model = HuggingFaceModel(module)
    clean = model.forward_pass(model.weights(), batch)
    torch.testing.assert_close(clean.losses, losses(module, tokens), **CLOSE)
    assert model.mlps == ["mlp:0", "mlp:1"]
    for component in (*model.heads, *model.mlps):
        zero = torch.zeros_like(clean.output(component))
        found = clean.replaced({component: zero}).losses
        expected = losses(with_output(module, component, zero[0, 0]), tokens)
        torch.testing.assert_close(found, expected, **CLOSE)
        assert (found - clean.losses).abs().max() > 100 * CLOSE["atol"]


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_mean_output_is_that_of_all_contexts_and_positions(name):
    module, tokens, batch = of(name)
    model = HuggingFaceModel(module)
    means = model.mean_outputs(model.weights(), batch.split(3))
    assert list(means) == [*model.heads, *model.mlps]
    clean = model.forward_pass(model.weights(), batch)
    for component, mean in means.items():
        torch.testing.assert_close(mean, clean.output(component).mean((0, 1))[None], rtol=1e-4, atol=1e-5)
        found = clean.replaced({component: mean}).losses
        torch.testing.assert_close(found, losses(with_output(module, component, mean[0]), tokens), **CLOSE)


@torch.no_grad()
@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama_groups", "falcon_groups", "olmo2"])
def test_output_of_another_context_is_that_of_a_module_that_swaps_contexts(name):
    module, tokens, batch = of(name)
    model, others = HuggingFaceModel(module), torch.tensor([2, 3, 1, 0])
    clean = model.forward_pass(model.weights(), batch)
    for component in (*model.heads, *model.mlps):
        found = clean.replaced({component: clean.output(component)[others]}).losses
        torch.testing.assert_close(found, losses(with_others(module, component, others), tokens), **CLOSE)


@torch.no_grad()
@pytest.mark.parametrize("name", SOME)
def test_own_outputs_change_nothing(name):
    module, _, batch = of(name)
    model = HuggingFaceModel(module)
    clean = model.forward_pass(model.weights(), batch)
    own = {component: clean.output(component) for component in (*model.heads, *model.mlps)}
    torch.testing.assert_close(clean.replaced(own).losses, clean.losses, **CLOSE)
    assert clean.replaced({}) is clean


@torch.no_grad()
def test_replacements_add_up():
    module, tokens, batch = of("gpt_neox")
    model = HuggingFaceModel(module)
    clean = model.forward_pass(model.weights(), batch)
    zero = {component: torch.zeros(1) for component in ("0:1", "0:3", "mlp:1")}
    together = clean.replaced(zero)
    one_by_one = clean.replaced({"0:1": zero["0:1"]}).replaced({"mlp:1": zero["mlp:1"]})
    expected = with_output(with_output(module, "mlp:1", torch.zeros(32)), "0:1", torch.zeros(8))
    torch.testing.assert_close(one_by_one.losses, losses(expected, tokens), **CLOSE)
    torch.testing.assert_close(one_by_one.replaced({"0:3": zero["0:3"]}).losses, together.losses, **CLOSE)
    assert together.output("0:1").abs().max() == together.output("0:3").abs().max() == 0
    assert together.output("0:2").abs().max() > 0


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_layers_ahead_of_a_replacement_are_not_run_and_change_nothing(name):
    module, _, batch = of(name)
    model = HuggingFaceModel(module)
    clean = model.forward_pass(model.weights(), batch)
    head, own = model.heads[-1], model.mlps[-1]
    new = {head: torch.zeros_like(clean.output(head)), own: clean.output(own).flip(0)}
    runs = []
    first = model.components.layers[0].attention
    hook = first.register_forward_hook(lambda *call: runs.append(call))
    ahead_of_both = clean.replaced(new)
    assert not runs
    whole = clean.replaced(new | {"mlp:0": clean.output("mlp:0")})
    assert len(runs) == 1
    hook.remove()
    torch.testing.assert_close(ahead_of_both.losses, whole.losses, **CLOSE)
    torch.testing.assert_close(ahead_of_both.output("mlp:0"), clean.output("mlp:0"))
    again = model.forward_pass(model.weights(), batch)
    assert torch.equal(again.losses, clean.losses)
    assert not any("forward" in vars(layer.module) for layer in model.components.layers)


@torch.no_grad()
def test_pass_of_other_weights_is_that_of_a_module_that_has_them():
    module, tokens, batch = of("gpt_neox")
    other = tiny_model("gpt_neox", seed=1)
    found = HuggingFaceModel(module).forward_pass(HuggingFaceModel(other).weights(), batch)
    torch.testing.assert_close(found.losses, losses(other, tokens), **CLOSE)


@torch.no_grad()
@pytest.mark.parametrize("name", ["llama", "llama_groups", "qwen3", "gemma"])
def test_attention_times_values_is_the_output_of_the_same_head(name):
    module, tokens, batch = of(name)
    values = {}
    for index, layer in enumerate(module.model.layers):
        layer.self_attn.v_proj.register_forward_hook(
            lambda _, given, returned, index=index: values.update({index: returned})
        )
    model = HuggingFaceModel(module)
    clean = model.forward_pass(model.weights(), batch)
    patterns = module(input_ids=tokens, output_attentions=True).attentions
    groups = len(model.heads) // 2
    for place, head in enumerate(model.heads):
        layer, index = divmod(place, groups)
        value = values[layer].unflatten(-1, (groups, -1))[:, :, index]
        members = [index] if groups == 4 else range(index * 4 // groups, (index + 1) * 4 // groups)
        of_members = [patterns[layer][:, member] for member in members]
        z = torch.cat([each @ value for each in of_members], -1)
        torch.testing.assert_close(clean.output(head), z, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(clean.attention(head), torch.stack(of_members).mean(0))


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_rows_of_attention_are_those_of_all_positions(name):
    module, tokens, batch = of(name)
    model, queries = HuggingFaceModel(module), torch.tensor([0, 3, 8, 5])
    rows = model.attention_rows(model.weights(), tokens, queries)
    assert rows.shape == (4, len(model.heads), MODELS[name][3], 9)
    clean = model.forward_pass(model.weights(), batch)
    for place, head in enumerate(model.heads):
        whole = clean.attention(head)[torch.arange(4), queries]
        torch.testing.assert_close(rows[:, place].mean(1), whole, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(rows.sum(-1), torch.ones(rows.shape[:-1]))
    assert rows[1, ..., 4:].abs().max() == 0


def test_attention_without_patterns_is_refused():
    module = tiny_model("gpt_neox")
    module.set_attn_implementation("sdpa")
    model = HuggingFaceModel(module)
    with pytest.raises(ValueError, match=r"patterns of 0 of 2 layers.*eager"):
        model.attention_rows(model.weights(), tokens_of(module), torch.tensor([1, 2, 3, 4]))


def test_module_has_no_hooks_after_a_pass_or_an_error():
    module, _, batch = of("gpt2")
    model = HuggingFaceModel(module)
    clean = model.forward_pass(model.weights(), batch)
    with pytest.raises(RuntimeError):
        clean.replaced({"0:1": torch.zeros(3)})
    assert not any(each._forward_pre_hooks or each._forward_hooks for each in module.modules())


def test_mlp_of_a_layer_with_unknown_modules_is_left_out():
    module = tiny_model("llama")
    module.model.layers[1].adapter = torch.nn.Linear(32, 32)
    assert HuggingFaceModel(module).mlps == ["mlp:0"]
