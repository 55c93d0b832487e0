"""What kernels of attention heads require of a model, and what they say where it is missing."""

import pytest
from tiny_transformers import tiny_model

from rllc.measures.architecture import architecture_of, has_circuits, position_embedding_of, with_heads
from rllc.models.attention_only import AttentionOnly
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.regression import model as regression
from rllc.models.transformer import Architecture

SHAPE = Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=16, d_vocab=7)


def test_attention_only_transformers_have_heads_circuits_and_positions():
    own = AttentionOnly(SHAPE)
    assert with_heads(own) is own and has_circuits(own) and architecture_of(own) is SHAPE
    assert position_embedding_of(own) == ("pos_embed.W_pos", 16)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gpt_neox", "rotate with their positions, and MLPs"),
        ("gptj", "rotate with their positions, and MLPs"),
        ("gpt2", r"\(MLPs stand between its heads"),
    ],
)
def test_circuits_of_transformers_are_refused_with_the_reason(name, reason):
    own = HuggingFaceModel(tiny_model(name))
    assert with_heads(own) is own and not has_circuits(own)
    with pytest.raises(
        TypeError, match=f"a {name} model of transformers has no QK and OV circuits.*{reason}"
    ):
        architecture_of(own)
    with pytest.raises(TypeError, match="no paths from head to head alone"):
        architecture_of(own, "paths from head to head alone")


def test_models_without_heads_are_refused():
    own = regression(
        n_layers=1,
        n_heads=2,
        d_model=8,
        d_head=4,
        residual="plain",
        attention_output=True,
        context=4,
        d_vector=3,
    )
    for require in (with_heads, architecture_of, position_embedding_of):
        with pytest.raises(TypeError, match=f"{type(own).__name__} has no"):
            require(own)
