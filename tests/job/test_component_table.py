"""The table of components, against the masks of each single component."""

import pytest
import torch
from tiny_transformers import HEADS, LAYERS, PLAIN, tiny_model

from rllc.job.component_table import component_table
from rllc.models.attention_only import AttentionOnly
from rllc.models.huggingface.build import model as built
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.transformer import Architecture


def lines_of(model):
    """Return label -> its lines as (coordinates, share, [(tensor, share of it)])."""
    found, label = {}, ""
    for line in component_table(model).splitlines()[1:]:
        fields = [field for field in line.replace(" %", "%").split("  ") if field.strip()]
        if not line.startswith(" "):
            label = fields.pop(0).strip()
            found[label] = (int(fields.pop(0).replace(",", "")), float(fields.pop(0).strip(" %")), [])
        found[label][2].append((fields[0].strip(), float(fields[1].strip(" %"))))
    return found


def coordinates(model, label):
    return sum(int(mask.sum()) for mask in model.masks(label).values())


@pytest.mark.parametrize("name", ["gpt_neox", "gpt2", "llama_groups", "mixtral"])
def test_table_gives_what_the_masks_of_each_component_select(name):
    model = HuggingFaceModel(tiny_model(name))
    found, total = lines_of(model), sum(weight.numel() for weight in model.module.parameters())
    units = "group:0..1:0..1" if name in ("llama_groups", "mixtral") else f"0..1:0..{HEADS - 1}"
    first = {units: model.heads[0], "embedding": "embedding"}
    first |= {f"{kind}:0..{LAYERS - 1}": f"{kind}:0" for kind in ("layer", "attn", "mlp", "norm")}
    first |= {} if name == "gpt2" else {"unembedding": "unembedding"}  # tied there
    assert found.keys() == {"full", *first}
    assert found["full"][0] == total
    for label, one in first.items():
        size, share, tensors = found[label]
        assert size == coordinates(model, one), label
        assert share == pytest.approx(100 * size / total, rel=5e-3)
        assert len(tensors) == len(model.masks(one))


def test_head_has_its_share_of_a_fused_projection():
    table = lines_of(HuggingFaceModel(tiny_model("gpt_neox")))
    tensors = dict(table[f"0..1:0..{HEADS - 1}"][2])
    assert tensors["gpt_neox.layers.*.attention.query_key_value.weight"] == 100 / HEADS
    assert tensors["gpt_neox.layers.*.attention.dense.weight"] == 100 / HEADS


def test_layers_that_differ_have_lines_of_their_own():
    fields = PLAIN | {"num_hidden_layers": 4, "num_key_value_heads": 4, "head_dim": 8, "mlp_only_layers": [1]}
    fields |= {"num_experts_per_tok": 1}
    model = built(config={"model_type": "qwen3_moe", "num_experts": 2, "moe_intermediate_size": 12, **fields})
    found = lines_of(model)
    assert {label for label in found if label.startswith("mlp")} == {"mlp:0,2..3", "mlp:1"}
    assert found["mlp:1"][0] == coordinates(model, "mlp:1")
    assert found["mlp:0,2..3"][0] == coordinates(model, "mlp:3")
    assert "0..3:0..3" in found


def test_heads_that_cannot_be_found_are_said_below_the_table():
    module = tiny_model("gpt_neox")
    module.gpt_neox.layers[1].attention.own = torch.nn.Parameter(torch.zeros(3))  # in no projection
    *table, last = component_table(HuggingFaceModel(module)).splitlines()
    assert "the heads of layer 1" in last
    labels = {line.split(" ")[0] for line in table}
    assert {"attn:0", "attn:1", "mlp:0..1"} <= labels
    assert not any(label.startswith("0") for label in labels)


def test_attention_only_transformer_has_a_table_too():
    model = AttentionOnly(Architecture(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=6, d_vocab=10))
    found = lines_of(model)
    assert {"full", "0..1:0..1", "layer:0..1", "embedding", "unembedding"} <= found.keys()
    assert found["0..1:0..1"][0] == coordinates(model, "1:1")
