"""The shape that is read from a config.json, against transformers and the probe."""

import json

import pytest
from tiny_transformers import MODELS, tiny_model

from rllc.huggingface_files import config_fields
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.huggingface.probe import head_counts
from rllc.study.huggingface.shape import shape_of, weight_count


@pytest.mark.parametrize("name", sorted(MODELS))
def test_shape_of_saved_config_is_that_of_the_model(name, tmp_path):
    module = tiny_model(name)
    module.config.save_pretrained(tmp_path)
    shape, config = shape_of(config_fields(tmp_path)), module.config
    assert (shape.n_heads, shape.groups) == head_counts(module)
    assert (shape.n_layers, shape.d_model) == (config.num_hidden_layers, config.hidden_size)
    assert shape.vocabulary == config.vocab_size
    tied = module.get_output_embeddings().weight is module.get_input_embeddings().weight
    assert shape.tied == tied
    model = HuggingFaceModel(module)
    assert len(model.heads) == shape.n_layers * shape.groups
    assert model.heads[0].startswith("group") == (shape.unit == "group")


@pytest.mark.parametrize(
    "name", ["gpt2", "gpt_neox", "llama", "llama_groups", "qwen3", "gemma", "opt", "falcon"]
)
def test_weight_count_is_within_a_quarter_of_the_model(name, tmp_path):
    module = tiny_model(name)
    module.config.save_pretrained(tmp_path)
    shape = shape_of(config_fields(tmp_path))
    assert weight_count(shape, shape.vocabulary) == pytest.approx(module.num_parameters(), rel=0.25)


def test_shape_of_a_model_for_text_and_images_is_that_of_its_text():
    text = {"num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 8, "vocab_size": 7}
    assert shape_of({"model_type": "some_vl", "hidden_size": 99, "text_config": text}).d_model == 8


def test_shape_without_its_sizes_is_refused_by_their_names():
    with pytest.raises(ValueError, match=r"'gpt2'\) lacks num_hidden_layers, num_attention_heads: add them"):
        shape_of({"model_type": "gpt2", "n_embd": 8})


def test_fields_of_saving_are_left_out(tmp_path):
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "gpt2", "transformers_version": "5.0", "dtype": "float16", "n_layer": 2})
    )
    assert config_fields(tmp_path) == {"model_type": "gpt2", "n_layer": 2}
