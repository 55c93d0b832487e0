import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rllc.components import check, kind, parse
from rllc.models.components import masks
from rllc.models.transformer import Architecture, shapes

PAPER = Architecture(n_layers=2, n_heads=8, d_model=256, d_head=32, n_ctx=1024, d_vocab=5000)
SMALL = Architecture(n_layers=3, n_heads=2, d_model=6, d_head=3, n_ctx=5, d_vocab=7)


def size(chosen):
    return sum(int(mask.sum()) for mask in chosen.values())


def test_a_head_of_the_paper_has_32864_coordinates():
    assert size(masks("1:6", PAPER)) == 32_864


def test_the_full_model_has_no_mask():
    assert masks("full", SMALL) is None


def test_a_head_is_one_index_of_its_layers_weights():
    chosen = masks("1:0", SMALL)
    assert set(chosen) == {f"blocks.1.attn.{w}" for w in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V")}
    for name, mask in chosen.items():
        assert mask.shape == shapes(SMALL)[name]
        assert mask.dtype == torch.bool
        assert mask[0].all()
        assert not mask[1].any()


def test_heads_and_b_o_make_up_a_layer():
    heads = masks("2:0+2:1", SMALL)
    layer = masks("layer:2", SMALL)
    assert layer.keys() - heads.keys() == {"blocks.2.attn.b_O"}
    assert all(mask.all() for mask in [*heads.values(), *layer.values()])
    assert set(layer) == {name for name in shapes(SMALL) if name.startswith("blocks.2.attn.")}


def test_heads_of_two_layers():
    chosen = masks("0:1+2:0", SMALL)
    apart = masks("0:1", SMALL) | masks("2:0", SMALL)
    assert chosen.keys() == apart.keys()
    assert all(torch.equal(chosen[name], apart[name]) for name in chosen)


def test_the_embedding_is_the_token_embedding_alone():
    assert {name: mask.shape for name, mask in masks("embedding", SMALL).items()} == {"embed.W_E": (7, 6)}


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=4))
def test_heads_are_accepted_in_canonical_form_only(heads):
    text = "+".join(f"{layer}:{head}" for layer, head in heads)
    if heads == sorted(set(heads)):
        assert parse(text).heads == tuple(heads)
        assert kind(text) == ("heads" if len(heads) == 1 else "other")
    else:
        canonical = "+".join(f"{layer}:{head}" for layer, head in sorted(set(heads)))
        with pytest.raises(ValueError, match=f"write '{canonical}'".replace("+", r"\+")):
            parse(text)


@pytest.mark.parametrize(
    "text", ["", "head", "1", "1:", "01:0", "1:6+", "layer:", "layer:01", "Full", "1:6 "]
)
def test_an_unknown_component_is_refused_with_the_known_ones(text):
    with pytest.raises(ValueError, match=r"unknown component .* expected \"full\", a head"):
        parse(text)


@pytest.mark.parametrize("text", ["3:0", "0:2", "layer:3", "0:0+3:1"])
def test_a_component_outside_the_model_is_refused(text):
    with pytest.raises(ValueError, match="its layers are 0 to 2, its heads 0 to 1 in each"):
        masks(text, SMALL)


@pytest.mark.parametrize(
    ("text", "expected"), [("full", "full"), ("layer:0", "other"), ("embedding", "other")]
)
def test_kinds(text, expected):
    assert kind(text) == expected
    check(text, n_layers=1, n_heads=1)


def test_names_are_read_without_torch():
    code = "import sys; from rllc.components import kind; kind('1:6'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
