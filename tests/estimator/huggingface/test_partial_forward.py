"""Modules that run in part."""

import pytest
import torch
from tiny_transformers import tiny_model, tokens_of

from rllc.estimator.huggingface.partial_forward import always, first, recorded, replaced


def test_recorded_calls_are_those_of_the_layer_detached():
    module = tiny_model("gpt_neox")
    layer, tokens = module.gpt_neox.layers[1], tokens_of(module)
    with recorded({1: layer}) as calls:
        module(input_ids=tokens, use_cache=False)
    call = calls[1]
    assert not call.returned.requires_grad
    torch.testing.assert_close(layer(*call.given, **call.named), call.returned)
    module(input_ids=tokens[:1])
    assert calls[1] is call  # nothing is recorded outside of the block


def test_identity_in_the_place_of_the_unembedding_gives_its_input():
    module = tiny_model("gpt_neox")
    tokens = tokens_of(module)
    head = module.get_output_embeddings()
    with replaced({head: first}):
        hidden = module(input_ids=tokens).logits
    torch.testing.assert_close(head(hidden), module(input_ids=tokens).logits)


def test_replaced_functions_are_restored_after_an_error():
    module = torch.nn.Linear(2, 2)
    other = torch.nn.Linear(2, 2)
    other.forward = always(7)
    with pytest.raises(RuntimeError), replaced({module: always(1), other: always(2)}):
        assert (module(torch.zeros(2)), other(0)) == (1, 2)
        raise RuntimeError
    assert "forward" not in vars(module)
    assert other(0) == 7
