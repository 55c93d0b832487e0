"""Heads found by the probe, against heads found by setting slices of z to zero."""

import pytest
import torch
from tiny_transformers import HEADS, LAYERS, MODELS, NORMS_OVER_HEADS, tiny_model, tokens_of

from rllc.models.huggingface.components import Components
from rllc.models.huggingface.probe import find_units


def gradients_without(module, layer, heads, output):
    """Return the gradients of the loss where the slices of ``heads`` of the input of ``output`` are zero."""
    projection = module.get_submodule(output.format(layer))

    def remove(_, given):
        kept = torch.ones(given[0].shape[-1])
        size = len(kept) // HEADS
        for head in heads:
            kept[head * size : (head + 1) * size] = 0
        return (given[0] * kept,)

    hook = projection.register_forward_pre_hook(remove)
    tokens = tokens_of(module)
    module.zero_grad()
    module(input_ids=tokens, labels=tokens).loss.backward()
    hook.remove()
    return {
        name: weight.grad.clone() for name, weight in module.named_parameters() if weight.grad is not None
    }


@pytest.mark.parametrize("name", MODELS)
def test_units_are_those_that_the_loss_does_not_read_without_their_slice(name):
    module, output, size = tiny_model(name), *MODELS[name][2:]
    components = Components(module)
    per_layer = HEADS // size
    labels = [f"{layer}:{unit}" for layer in range(LAYERS) for unit in range(per_layer)]
    assert components.heads == (labels if size == 1 else [f"group:{label}" for label in labels])
    for label in components.heads:
        layer, unit = map(int, label.removeprefix("group:").split(":"))
        heads = range(unit * size, (unit + 1) * size)
        gradients = gradients_without(module, layer, heads, output)
        masks = components.masks(label)
        assert masks
        for weight, mask in masks.items():
            coupled = name in NORMS_OVER_HEADS and ("q_proj" in weight or "k_proj" in weight)
            if coupled:  # the norm reads all heads; its own weight shows which rows are of this head
                norm = weight.replace("proj", "norm")
                assert torch.equal(gradients[norm] == 0, mask[:, 0])
            else:
                assert not gradients[weight][mask].any()
            if mask.ndim == 2 and not coupled:  # and nothing else vanishes
                axis = 0 if mask.all(0).any() else 1
                assert torch.equal((gradients[weight] == 0).all(axis), mask.all(axis))
                assert torch.equal((gradients[weight] == 0).all(axis), mask.any(axis))


@pytest.mark.parametrize("name", MODELS)
def test_units_cover_the_projections_once(name):
    components = Components(tiny_model(name))
    for layer in range(LAYERS):
        own = [label for label in components.heads if label.split(":")[-2] == str(layer)]
        covered = {}
        for label in own:
            for weight, mask in components.masks(label).items():
                covered[weight] = covered.get(weight, 0) + mask.int()
        assert covered
        assert all((count == 1).all() for count in covered.values())


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("gpt_neox", 4 * 32 * 8 + 3 * 8),
        ("llama_groups", 32 * 8 * (2 + 1 + 1 + 2)),
        ("qwen3", 32 * 10 * (2 + 1 + 1 + 2)),
    ],
)
def test_sizes_of_units(name, size):
    """Also with an explicit head_dim, where width / heads is another number."""
    components = Components(tiny_model(name))
    assert {
        sum(int(mask.sum()) for mask in components.masks(label).values()) for label in components.heads
    } == {size}


def test_probe_does_not_read_the_weights():
    module = tiny_model("gpt_neox")
    expected = Components(module).masks("1:2")
    with torch.no_grad():
        for weight in module.parameters():
            weight.zero_()
    found = Components(module).masks("1:2")
    assert all(torch.equal(found[name], mask) for name, mask in expected.items())


def test_probe_leaves_the_module_as_it_was():
    module = tiny_model("olmo2")
    tokens = tokens_of(module)
    before = module(input_ids=tokens).logits
    _ = Components(module).heads
    torch.testing.assert_close(module(input_ids=tokens).logits, before, rtol=0, atol=0)
    assert all(not each._forward_hooks for each in module.modules())


def test_config_that_does_not_agree_with_the_heads_is_refused():
    module = tiny_model("llama")
    module.config.num_key_value_heads = 2
    with pytest.raises(
        ValueError, match=r"heads of layer 0 .* 4 independent units .* expected 2 .* \"attn:0\""
    ):
        _ = Components(module).heads


def test_heads_of_half_the_size_share_queries_and_are_refused():
    module = tiny_model("llama")
    module.config.num_attention_heads = 8
    module.config.num_key_value_heads = 8
    with pytest.raises(ValueError, match=r"4 independent units .* expected 8"):
        find_units(module, {0: module.model.layers[0].self_attn})


def test_weights_outside_of_projections_are_refused():
    module = tiny_model("llama")
    module.model.layers[1].self_attn.sinks = torch.nn.Parameter(torch.zeros(HEADS))
    with pytest.raises(ValueError, match=r"heads of layer 1 .* sinks belong to no projection"):
        _ = Components(module).heads


def test_projection_that_is_split_in_two_is_refused():
    """As where keys and values come from a common product: no head owns its outputs."""
    module = tiny_model("llama")
    attention = module.model.layers[0].self_attn
    attention.k_proj = torch.nn.Sequential(torch.nn.Linear(32, 8), torch.nn.Linear(8, 32))
    with pytest.raises(ValueError, match="no head depends on some outputs of a Linear"):
        _ = Components(module).heads


def test_projection_that_is_called_by_keyword_is_found():
    class ByKeyword(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(32, 32)

        def forward(self, x):
            return self.inner(input=x)

    module = tiny_model("llama")
    module.model.layers[0].self_attn.k_proj = ByKeyword()
    masks = Components(module).masks("0:1")
    assert masks["model.layers.0.self_attn.k_proj.inner.bias"].nonzero().flatten().tolist() == list(
        range(8, 16)
    )


def test_model_that_does_not_run_on_tokens_alone_is_refused():
    module = tiny_model("llama")
    module.model.layers[0].mlp.forward = lambda x, image: x
    with pytest.raises(ValueError, match="LlamaForCausalLM cannot be run on 4 tokens: TypeError"):
        _ = Components(module).heads
