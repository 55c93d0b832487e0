"""One head of GPT-NeoX against the attention of transformers."""

import pytest
import torch
from tiny_transformers import tiny_model, tokens_of

from rllc.estimator.huggingface.partial_forward import first, recorded, replaced
from rllc.estimator.kernels.rotary_attention import HeadWeights, Inputs, attend


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("bias", [True, False])
def test_output_of_a_head_is_its_slice_in_transformers(bias, share):
    rotary = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": share}
    module = tiny_model("gpt_neox", attention_bias=bias, rope_parameters=rotary)
    attention = module.gpt_neox.layers[1].attention
    with torch.no_grad(), recorded({1: attention}) as calls, replaced({attention.dense: first}):
        module(input_ids=tokens_of(module), use_cache=False)
    call = calls[1]
    own = attention.query_key_value
    head = HeadWeights(own.weight[48:72], own.bias[48:72] if bias else None, attention.dense.weight[:, 16:24])
    cos, sin = call.named["position_embeddings"]
    assert cos.shape[-1] == 8 * share
    inputs = Inputs(call.given[0], cos, sin, call.named["attention_mask"][:, 0], None)
    expected = call.returned[0][..., 16:24]
    torch.testing.assert_close(attend(head, inputs, scaling=8**-0.5), expected)
    asked = torch.tensor([1, 4])
    some = attend(head, inputs._replace(asked=asked), scaling=8**-0.5)
    torch.testing.assert_close(some, expected[:, asked])
