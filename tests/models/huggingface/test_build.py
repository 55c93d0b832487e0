"""Models that are built from the fields of a config."""

import pytest
import torch
from tiny_transformers import tiny_model, tokens_of

from rllc.models.huggingface.build import model
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.tasks.batch import Batch


def every_next_token(tokens):
    return Batch(tokens, torch.arange(tokens.shape[1] - 1), tokens[:, 1:])


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama_groups", "opt", "mixtral"])
def test_model_of_a_config_has_the_loss_of_transformers_at_given_weights(name):
    module, tokens = tiny_model(name), tokens_of(tiny_model(name))
    one = HuggingFaceModel(module)
    built = model(**one.facts())
    expected = module(input_ids=tokens, labels=tokens).loss
    torch.testing.assert_close(
        built.loss(one.weights(), every_next_token(tokens)), expected, rtol=1e-5, atol=0
    )
    assert built.shapes() == one.shapes()
    assert built.heads == one.heads


def test_initial_weights_are_a_function_of_the_seed():
    built = model(config=tiny_model("gpt_neox").config.to_dict())
    state = torch.random.get_rng_state()
    one, same, other = (built.initial_weights(seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    name = "gpt_neox.layers.0.mlp.dense_h_to_4h.weight"
    assert torch.equal(one[name], same[name]) and not torch.equal(one[name], other[name])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_type": "no_such_model"}, "'no_such_model' is unknown"),
        ({}, "'None' is unknown"),
        ({"model_type": "gpt_neox", "hidden_size": 10, "num_attention_heads": 3}, "cannot build a gpt_neox"),
    ],
)
def test_config_of_no_model_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        model(config=fields)
