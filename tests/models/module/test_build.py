"""Modules of the user: their loss is the plain cross-entropy, and modules that are not as described are refused."""

import sys
from pathlib import Path

import pytest
import torch

from rllc.models.module.build import model
from rllc.module_source import source_digest
from rllc.tasks.batch import Batch

NANO = f"{Path(__file__).parents[2] / 'nano.py'}:build"
VOCABULARY, CONTEXT = 32, 12
SHAPE = {"options": {}, "vocabulary": VOCABULARY, "context": CONTEXT}
LENS = """
from transformer_lens import HookedTransformer, HookedTransformerConfig

def build(**options):
    config = dict(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=12, d_vocab=32, act_fn="gelu", d_mlp=16,
                  device="cpu")
    return HookedTransformer(HookedTransformerConfig(**config | options))
"""


def nano(**options):
    return model(build=NANO, **SHAPE | {"options": options})


def written(folder, text, name="mine.py"):
    (folder / name).write_text(text)
    return f"{folder / name}:build"


def batch(positions=(0, 3, 4, 10)):
    random = torch.Generator().manual_seed(0)
    tokens = torch.randint(VOCABULARY, (5, CONTEXT), generator=random)
    at = torch.tensor(positions)
    return tokens, Batch(tokens, at, tokens[:, at + 1])


def cross_entropy(logits, tokens, positions):
    """The mean of -log p(next token), in float64, from the logits of a plain call."""
    p = torch.exp(logits.double() - logits.double().logsumexp(-1, keepdim=True))
    values = [-p[i, t, tokens[i, t + 1]].log() for i in range(len(tokens)) for t in positions.tolist()]
    return torch.stack(values).mean().item()


def test_loss_of_nanogpt_equals_cross_entropy_of_its_own_logits():
    found = nano()
    tokens, scored = batch()
    with torch.no_grad():
        plain = found.module(tokens, tokens)[0]
    expected = cross_entropy(plain, tokens, scored.positions)
    assert found.loss(found.weights(), scored).item() == pytest.approx(expected, rel=1e-6)
    assert found.context_losses(found.weights(), scored).mean().item() == pytest.approx(expected, rel=1e-6)
    assert not found.module.training


def test_loss_follows_given_weights_and_not_those_of_the_module():
    found, other = nano(), nano().initial_weights(seed=3)
    tokens, scored = batch()
    loss = found.loss(other, scored).item()
    found.module.load_state_dict(other, strict=False)  # lm_head is tied
    with torch.no_grad():
        expected = cross_entropy(found.module(tokens, tokens)[0], tokens, scored.positions)
    assert loss == pytest.approx(expected, rel=1e-6)


def test_loss_of_hooked_transformer_with_mlps_equals_cross_entropy(tmp_path):
    found = model(build=written(tmp_path, LENS), **SHAPE)
    tokens, scored = batch()
    with torch.no_grad():
        expected = cross_entropy(found.module(tokens), tokens, scored.positions)
    assert found.loss(found.weights(), scored).item() == pytest.approx(expected, rel=1e-6)
    masks = found.masks(r"weights:blocks\.1\.mlp")
    assert sorted(masks) == [f"blocks.1.mlp.{name}" for name in ("W_in", "W_out", "b_in", "b_out")]


@pytest.mark.parametrize(
    "output", ["SimpleNamespace(logits=self.head(tokens))", "(self.head(tokens), None)", "self.head(tokens)"]
)
def test_logits_are_found_in_every_form_of_output(tmp_path, output):
    text = f"""
from types import SimpleNamespace
from torch import nn

class Bigram(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Embedding({VOCABULARY}, {VOCABULARY})

    def forward(self, tokens):
        return {output}

build = Bigram
"""
    found = model(build=written(tmp_path, text), **SHAPE)
    tokens, scored = batch()
    expected = cross_entropy(found.weights()["head.weight"][tokens], tokens, scored.positions)
    assert found.loss(found.weights(), scored).item() == pytest.approx(expected, rel=1e-6)


def test_initial_weights_are_those_of_build_under_the_seed():
    found = nano()
    state = torch.get_rng_state()
    first, again, other = (found.initial_weights(seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    name = "transformer.wte.weight"
    assert torch.equal(first[name], again[name]) and not torch.equal(first[name], other[name])
    assert "lm_head.weight" not in first
    with torch.random.fork_rng():
        torch.manual_seed(1)
        sys.path.insert(0, str(Path(NANO).parent))
        try:
            from nano import build

            assert torch.equal(first[name], build().lm_head.weight)
        finally:
            sys.path.remove(str(Path(NANO).parent))


@pytest.mark.parametrize(
    ("component", "message"),
    [
        (
            r"weights:transformer\.h\.0\.mpl",
            r"expected a regular expression found in .*transformer\.h\.0\.mlp",
        ),
        (r"weights:^lm_head", "lm_head.weight is tied to transformer.wte.weight"),
        ("mlp:0", 'expected "full" or "weights:<regular expression>"'),
    ],
)
def test_component_without_weights_is_refused(component, message):
    with pytest.raises(ValueError, match=message):
        nano().masks(component)


def test_masks_cover_all_coordinates_of_matching_weights_alone():
    found = nano()
    assert found.masks("full") is None and found.heads == []
    masks = found.masks(r"weights:h\.\d\.attn\.c_attn")
    assert sorted(masks) == [f"transformer.h.{i}.attn.c_attn.{n}" for i in (0, 1) for n in ("bias", "weight")]
    assert all(mask.all() and mask.shape == found.shapes()[name] for name, mask in masks.items())


MODULE = """
import torch
from torch import nn

class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(32, 32)

    def forward(self, tokens):
        {returns}

def build(**options):
    {builds}
"""


@pytest.mark.parametrize(
    ("returns", "builds", "message"),
    [
        (
            "return self.e(tokens)[:, [-1]]",
            "return Own()",
            r"one prediction at every position; put a function",
        ),
        ("return self.e(tokens)[..., :30]", "return Own()", "model.vocabulary: .* gives 30 logits"),
        ("return {'a': 1}", "return Own()", "returns a dict: expected logits"),
        (
            "return self.e(tokens + 1)",
            "return Own()",
            "model.context: the module cannot read 12 tokens of 32",
        ),
        ("return self.e(tokens) + torch.rand(1)", "return Own()", "two calls .* differ.*take dropout"),
        ("return self.e(tokens).mean(1, True) + self.e(tokens)", "return Own()", "depend on later tokens"),
        ("return self.e(tokens)", "return nn.ReLU()", "returned a ReLU without weights"),
        ("return self.e(tokens)", "return Own", "returned a type"),
        ("return self.e(tokens)", "return Own(3)", "cannot be called with the options .*TypeError"),
    ],
)
def test_module_that_is_not_as_described_is_refused(tmp_path, returns, builds, message):
    with pytest.raises(ValueError, match=message):
        model(build=written(tmp_path, MODULE.format(returns=returns, builds=builds)), **SHAPE)


def test_module_in_bfloat16_becomes_float32(tmp_path):
    text = MODULE.format(returns="return self.e(tokens)", builds="return Own().bfloat16()")
    assert model(build=written(tmp_path, text), **SHAPE).weights()["e.weight"].dtype == torch.float32


def test_file_that_changed_since_the_plan_is_refused(tmp_path):
    build = written(tmp_path, LENS)
    planned = source_digest(build)
    written(tmp_path, LENS.replace("d_mlp=16", "d_mlp=24"))
    with pytest.raises(ValueError, match="is not that which this was made with"):
        model(build=build, **SHAPE, source=planned)
