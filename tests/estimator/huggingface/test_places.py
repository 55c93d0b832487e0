"""The layer that each weight of a model acts in."""

import pytest
from tiny_transformers import MODELS, tiny_model

from rllc.estimator.huggingface.places import Places
from rllc.models.huggingface.model import HuggingFaceModel


@pytest.mark.parametrize("name", MODELS)
def test_weights_of_a_layer_act_in_it_and_ends_before_or_after(name):
    model = HuggingFaceModel(tiny_model(name))
    places = Places(model)
    for layer in (0, 1):
        assert {places.layer_of(weight) for weight in model.masks(f"layer:{layer}")} == {layer}
    assert {places.layer_of(weight) for weight in model.masks("embedding")} == {0}
    tied = model.module.get_output_embeddings().weight is model.module.get_input_embeddings().weight
    assert places.layer_of(places.names["weight"]) == (0 if tied else 2)


def test_final_norm_counts_as_before_the_first_layer():
    assert Places(HuggingFaceModel(tiny_model("gpt_neox"))).layer_of("gpt_neox.final_layer_norm.weight") == 0
