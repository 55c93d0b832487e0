"""Labels of components of transformers models."""

import pytest
import torch
from tiny_transformers import MODELS, tiny_model

from rllc.models.huggingface.components import Components


def chosen(module, label):
    """Return the names of the weights that a label selects, each wholly."""
    masks = Components(module).masks(label)
    assert all(mask.all() for mask in masks.values())
    shapes = dict(module.named_parameters())
    assert all(mask.shape == shapes[name].shape and mask.dtype == torch.bool for name, mask in masks.items())
    return set(masks)


def starting(module, *prefixes):
    return {name for name, _ in module.named_parameters() if name.startswith(prefixes)}


@pytest.mark.parametrize("name", MODELS)
def test_attention_mlp_and_norms_make_up_a_layer(name):
    module = tiny_model(name)
    parts = [chosen(module, f"{kind}:1") for kind in ("attn", "mlp", "norm")]
    assert sum(map(len, parts)) == len(set().union(*parts))
    assert set().union(*parts) == chosen(module, "layer:1")
    assert set().union(*parts) == chosen(module, "attn:1+mlp:1+norm:1")


def test_parts_of_gpt_neox():
    module = tiny_model("gpt_neox")
    layer = "gpt_neox.layers.1."
    assert chosen(module, "attn:1") == starting(module, layer + "attention.")
    assert chosen(module, "mlp:1") == starting(module, layer + "mlp.")
    assert chosen(module, "norm:1") == starting(
        module, layer + "input_layernorm", layer + "post_attention_layernorm"
    )
    assert chosen(module, "embedding") == {"gpt_neox.embed_in.weight"}
    assert Components(module).masks("full") is None
    (unembedding,) = chosen(module, "unembedding")
    assert dict(module.named_parameters())[unembedding] is module.get_output_embeddings().weight


def test_parts_of_opt_whose_mlp_is_two_modules():
    module = tiny_model("opt")
    assert chosen(module, "mlp:0") == starting(
        module, "model.decoder.layers.0.fc1", "model.decoder.layers.0.fc2"
    )


@pytest.mark.parametrize("name", ["gpt2", "gemma", "opt"])
def test_tied_unembedding_is_refused(name):
    with pytest.raises(ValueError, match=r"'unembedding' is tied to embedding .* sample \"embedding\""):
        Components(tiny_model(name)).masks("unembedding")


def test_union_of_heads_and_an_mlp():
    components = Components(tiny_model("gpt_neox"))
    one, other, mlp = (components.masks(label) for label in ("0:1", "0:3", "mlp:0"))
    union = components.masks("0:1+0:3+mlp:0")
    assert union.keys() == one.keys() | mlp.keys()
    assert all(torch.equal(union[name], one[name] | other[name]) for name in one)
    assert all(union[name].all() for name in mlp)


def test_masks_of_a_head_take_little_memory():
    masks = Components(tiny_model("gpt_neox")).masks("0:1")
    assert all(mask.untyped_storage().nbytes() < mask.numel() for mask in masks.values() if mask.ndim == 2)


def test_head_of_a_group_is_refused_with_the_group():
    components = Components(tiny_model("llama_groups"))
    with pytest.raises(ValueError, match=r"'1:3' is one of the heads 2, 3 of layer 1.*'group:1:1'"):
        components.masks("1:3")


@pytest.mark.parametrize("label", ["1:4", "2:0", "mlp:2", "group:0:0"])
def test_absent_component_is_refused_with_those_that_the_model_has(label):
    with pytest.raises(
        ValueError, match=rf"'{label}' is not in this model.* it has 0:0 to 1:3, layers 0 to 1"
    ):
        Components(tiny_model("gpt_neox")).masks(label)


def test_absent_layer_of_a_model_without_heads_that_are_found_is_refused():
    module = tiny_model("llama")
    module.config.num_key_value_heads = 2
    with pytest.raises(ValueError, match="no heads that rllc can find"):
        Components(module).masks("mlp:2")


def test_mlp_of_a_layer_with_unknown_modules_is_refused():
    module = tiny_model("llama")
    module.model.layers[0].adapter = torch.nn.Linear(2, 2)
    with pytest.raises(ValueError, match=r"unknown modules adapter.*\"layer:0\""):
        Components(module).masks("mlp:0")
    assert "model.layers.0.adapter.weight" in chosen(module, "layer:0")


def test_model_without_layers_that_are_found_has_the_component_full_alone():
    module = tiny_model("llama")
    module.config.num_hidden_layers = 5
    assert Components(module).masks("full") is None
    with pytest.raises(ValueError, match=r"lists of 5 layers .* none; expected one"):
        Components(module).masks("mlp:0")


def test_layer_without_attention_has_no_heads_but_an_mlp():
    """As in hybrid models, where other modules mix positions in some layers."""
    module = tiny_model("gpt_neox")
    layer = module.gpt_neox.layers[0]
    layer.mamba = layer.attention
    del layer.attention
    layer.forward = lambda hidden, *_, **__: hidden + layer.mlp(hidden)
    components = Components(module)
    assert components.heads == ["1:0", "1:1", "1:2", "1:3"]
    assert chosen(module, "mlp:0") == starting(module, "gpt_neox.layers.0.mlp.")
    for label in ("0:0", "attn:0"):
        with pytest.raises(ValueError, match=rf"'{label}' is not in this model: .*layer 0 has no"):
            components.masks(label)


def test_weights_by_name_are_those_of_the_part_with_these_names():
    components = Components(tiny_model("gpt_neox"))
    by_name, mlp = components.masks(r"weights:layers\.1\.mlp"), components.masks("mlp:1")
    assert by_name.keys() == mlp.keys() and all(torch.equal(by_name[name], mlp[name]) for name in mlp)
    with pytest.raises(ValueError, match=r"lm_head\.weight is tied to transformer\.wte"):
        Components(tiny_model("gpt2")).masks("weights:lm_head")
