import subprocess
import sys
from dataclasses import replace

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
    ("text", "expected"),
    [("full", "full"), ("layer:0", "other"), ("embedding", "other"), ("0:0+norm:0", "other")],
)
def test_kinds(text, expected):
    assert kind(text) == expected
    check(text, n_layers=1, n_heads=1)


def test_names_are_read_without_torch():
    code = "import sys; from rllc.components import kind; kind('1:6'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_norms_and_the_unembedding():
    assert set(masks("norm:1", SMALL)) == {"blocks.1.ln1.w", "blocks.1.ln1.b"}
    assert set(masks("unembedding", SMALL)) == {"unembed.W_U", "unembed.b_U"}


def test_union_of_different_parts():
    chosen = masks("1:0+norm:1+embedding", SMALL)
    apart = masks("1:0", SMALL) | masks("norm:1", SMALL) | masks("embedding", SMALL)
    assert chosen.keys() == apart.keys()
    assert all(torch.equal(chosen[name], apart[name]) for name in chosen)
    with pytest.raises(ValueError, match=r"parts out of order or twice: write '1:0\+norm:1\+embedding'"):
        masks("embedding+1:0+norm:1", SMALL)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("group:1:0", "keys and values of their own"),
        ("attn:1", 'attention alone .write "layer:<layer>"'),
        ("mlp:1", "no MLPs"),
        ("1:0+mlp:1", "no MLPs"),
    ],
)
def test_a_part_that_attention_only_models_lack_is_refused_with_those_that_they_have(text, reason):
    with pytest.raises(
        ValueError, match=rf"{reason}.*expected full, heads, norm:<layer>, layer:<layer>, embedding"
    ):
        masks(text, SMALL)


def test_norms_of_a_model_without_them_are_refused():
    with pytest.raises(ValueError, match="no norms; expected full, heads, layer:<layer>"):
        masks("norm:0", replace(SMALL, layer_norm=False))


@pytest.mark.parametrize(
    "text", ["group:1:0", "attn:0", "mlp:11", "norm:2", "unembedding", "0:1+group:1:0+mlp:0"]
)
def test_labels_of_other_families_are_known(text):
    assert parse(text).label == text
    assert "+".join(part.label for part in parse(text).parts) == text


@pytest.mark.parametrize("text", ["group:1", "attn:1:0", "mlp:", "mlp:01", "full+0:1", "head:0:1", "norm"])
def test_labels_that_are_not_canonical_are_unknown(text):
    with pytest.raises(ValueError, match="unknown component"):
        parse(text)


def test_kind_of_a_group_is_that_of_heads():
    assert kind("group:1:0") == "heads"


def test_weights_by_name_are_all_of_their_coordinates():
    chosen = masks(r"weights:blocks\.[12]\.attn\.W_(Q|K)+$", SMALL)
    assert set(chosen) == {f"blocks.{layer}.attn.{name}" for layer in (1, 2) for name in ("W_Q", "W_K")}
    assert all(mask.all() and mask.shape == shapes(SMALL)[name] for name, mask in chosen.items())
    assert kind("weights:W_Q") == "other"
    with pytest.raises(ValueError, match=r"'weights:W_G' matches no weight .* such as .*W_"):
        masks("weights:W_G", SMALL)


@pytest.mark.parametrize(
    ("text", "reason"), [("weights:(", "no regular expression"), ("weights:", "names no weights")]
)
def test_expression_that_can_find_nothing_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse(text)
