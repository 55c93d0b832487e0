"""Sections of models and checkpoints of Hugging Face: the forms they accept, and what they refuse."""

import pytest
from pydantic import ValidationError
from tiny_transformers import MODELS, tiny_model

from rllc.huggingface_files import config_fields
from rllc.models.huggingface.components import Components
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.study.huggingface.sections import HuggingFace, HuggingFaceCheckpoints, capabilities, check_component

NEOX = {"model_type": "gpt_neox", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 8}


def checkpoints(**given):
    return HuggingFaceCheckpoints.model_validate({"source": "huggingface", **given})


def test_revisions_say_their_steps_or_are_a_table():
    assert checkpoints(revisions=["step0", "step512"]).names == {0: "step0", 512: "step512"}
    table = {"101000": "stage1-step101000-tokens424B", 7: "a" * 40}  # JSON keeps numbers as text
    assert checkpoints(revisions=table).names == {101000: "stage1-step101000-tokens424B", 7: "a" * 40}
    several = {7: "stage2-ingredient1-step7-tokens1B", 8: "stage2-ingredient2-step7-tokens1B"}
    assert checkpoints(revisions=several).names == several  # the table tells apart what shares a step
    assert checkpoints(path="mine/checkpoint-{step}").chunks == [0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"revisions": ["stage1-step101000-tokens424B"]}, "does not say its step alone"),
        (
            {"revisions": ["stage2-ingredient1-step7-tokens1B"]},
            "'stage2-ingredient1-step7-tokens1B' does not say",
        ),
        ({"revisions": ["main"]}, "does not say its step alone"),
        ({"revisions": ["step1", "step1"]}, "lists step1 twice"),
        ({"revisions": {1: "a", 2: "a"}}, "'a' has several steps"),
        ({"revisions": {-1: "a"}}, "-1 is no step"),
        ({"revisions": []}, "at least 1"),
        ({"revisions": ["step1"], "path": "x/{step}"}, "not both"),
        ({"path": "x/{stp}"}, "braces are for"),
        ({"path": "{step}/x-{step}"}, "twice"),
        ({"path": "x"}, "one checkpoint has one step"),
        ({}, "one checkpoint has one step"),
        ({"steps": [1, 2]}, "one checkpoint has one step"),
        ({"path": "x/{step}", "ratio": 1.2}, "ratio are of `source: train`"),
    ],
)
def test_form_that_names_no_steps_is_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        checkpoints(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": "a/b", "config": NEOX}, "not both"),
        ({"config": {"num_hidden_layers": 2}}, "lacks model_type"),
        ({"config": {"model_type": "gpt_neox"}}, "lacks num_hidden_layers"),
    ],
)
def test_model_without_one_origin_is_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        HuggingFace.model_validate({"family": "huggingface", **given})


LABELS = (
    "full", "1:3", "1:4", "2:0", "group:1:0", "group:1:1", "group:1:2", "attn:1", "attn:2", "mlp:0", "mlp:2", "norm:1",
    "layer:1", "embedding", "unembedding", "1:0+mlp:1", "0:1+1:9", "mpl:1", "1:06",
)  # fmt: skip


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama_groups", "falcon"])
def test_components_that_a_config_refuses_are_those_that_the_model_lacks(name, tmp_path):
    module = tiny_model(name)
    module.config.save_pretrained(tmp_path)
    section = HuggingFace(family="huggingface", config=config_fields(tmp_path))
    real = Components(module)
    verdicts = {}
    for label in LABELS:
        try:
            real.masks(label)
        except ValueError:
            verdicts[label] = False
        else:
            verdicts[label] = True
    assert {label: check_component(section, label) is None for label in LABELS} == verdicts


@pytest.mark.parametrize("name", MODELS)
def test_learned_positions_are_a_capability_of_the_models_that_have_them(name, tmp_path):
    module = tiny_model(name)
    module.config.save_pretrained(tmp_path)
    section = HuggingFace(family="huggingface", config=config_fields(tmp_path))
    has_table = HuggingFaceModel(module).position_embedding is not None
    assert ("learned_positions" in capabilities(section)) == has_table
