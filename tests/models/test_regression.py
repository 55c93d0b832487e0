"""The in-context transformers against the same network built of torch's modules."""

import math

import pytest
import torch
from torch import nn
from torch.func import functional_call

from rllc.models.regression import model
from rllc.tasks.batch import Batch
from rllc.tasks.regression.sequences import blocks

PAPER = {"n_layers": 2, "n_heads": 4, "d_model": 64, "d_head": 16, "context": 16, "d_vector": 5}
LAW = {"dimension": 4, "length": 8, "noise_variance": 0.125, "tasks": None, "task_seed": 0}


class Block(nn.Module):
    """One block, which returns h + attention + MLP."""

    def __init__(self, mixed):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(64), nn.LayerNorm(64)
        self.qkv = nn.Linear(64, 192, bias=False)
        self.out = nn.Linear(64, 64, bias=False) if mixed else nn.Identity()
        self.mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, h):
        x, heads = self.ln1(h), []
        for fused in self.qkv(x).split(48, -1):
            q, k, v = fused[..., :16], fused[..., 16:32], fused[..., 32:]
            scores = torch.einsum("bqd,bkd->bqk", q, k) / 4
            scores = scores.masked_fill(torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), -math.inf)
            heads.append(scores.softmax(-1) @ v)
        h = h + self.out(torch.cat(heads, -1))
        return h + self.mlp(self.ln2(h))


class Network(nn.Module):
    """The loop over blocks adds h once more where the residual is doubled."""

    def __init__(self, residual="plain", mixed=True):
        super().__init__()
        self.embed, self.place = nn.Linear(5, 64, bias=False), nn.Linear(16, 64, bias=False)
        self.blocks = nn.ModuleList([Block(mixed), Block(mixed)])
        self.ln, self.unembed, self.doubled = nn.LayerNorm(64), nn.Linear(64, 5), residual == "doubled"

    def forward(self, vectors):
        h = self.embed(vectors) + self.place(torch.eye(16, dtype=vectors.dtype))
        for block in self.blocks:
            h = h + block(h) if self.doubled else block(h)
        return self.unembed(self.ln(h))[:, ::2, 0]


def as_module(weights):
    """Our weights under the names of the modules, each matrix as ``nn.Linear`` has it."""
    names = {"embed.W_E": "embed.weight", "pos_embed.W_pos": "place.weight", "unembed.W_U": "unembed.weight",
             "unembed.b_U": "unembed.bias", "ln_final.w": "ln.weight", "ln_final.b": "ln.bias"}  # fmt: skip
    parts = {"ln1.w": "ln1.weight", "ln1.b": "ln1.bias", "ln2.w": "ln2.weight", "ln2.b": "ln2.bias",
             "attn.W_QKV": "qkv.weight", "attn.W_O": "out.weight", "mlp.W_in": "mlp.0.weight",
             "mlp.b_in": "mlp.0.bias", "mlp.W_out": "mlp.2.weight", "mlp.b_out": "mlp.2.bias"}  # fmt: skip
    names |= {f"blocks.{n}.{ours}": f"blocks.{n}.{theirs}" for n in (0, 1) for ours, theirs in parts.items()}
    return {names[name]: w.T if w.ndim == 2 else w for name, w in weights.items()}


def drawn(seed=0, count=6, **changes):
    shape = model(**{**PAPER, **changes})
    weights = {name: w.double() for name, w in shape.initial_weights(seed=seed).items()}
    generator = torch.Generator().manual_seed(seed)  # norms and biases away from 1 and 0
    weights = {n: w + 0.1 * torch.randn(w.shape, generator=generator).double() for n, w in weights.items()}
    every = blocks(count, seed=seed, **LAW)
    batch = every.batch(torch.arange(count).numpy(), every.scorable())
    return shape, weights, Batch(batch.contexts.double(), batch.positions, batch.targets.double())


@pytest.mark.parametrize("mixed, count", [(True, 51_717), (False, 43_525)])
def test_it_has_the_papers_number_of_weights(mixed, count):
    shape = model(**PAPER, attention_output=mixed)
    assert sum(map(math.prod, shape.shapes().values())) == count
    assert sum(w.numel() for w in Network(mixed=mixed).parameters()) == count


@pytest.mark.parametrize("residual", ["plain", "doubled"])
@pytest.mark.parametrize("mixed", [True, False])
def test_outputs_and_gradients_are_those_of_torchs_modules(residual, mixed):
    shape, weights, batch = drawn(residual=residual, attention_output=mixed)
    network = Network(residual, mixed).double()
    leaves = {name: w.requires_grad_() for name, w in weights.items()}
    theirs = functional_call(network, as_module(leaves), (batch.contexts,))
    torch.testing.assert_close(shape.outputs(leaves, batch), theirs, rtol=1e-10, atol=1e-10)
    other = torch.autograd.grad(((theirs - batch.targets) ** 2).mean(), list(leaves.values()))
    ours = torch.autograd.grad(shape.loss(leaves, batch), list(leaves.values()))
    for name, a, b in zip(leaves, ours, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-11, msg=name)


def test_an_answer_is_read_only_by_what_comes_after_it():
    """What is left out of the pass, and of it, cannot be told from what is computed."""
    shape, weights, batch = drawn()
    whole = shape.outputs(weights, batch)
    changed = batch.contexts.clone()
    changed[:, 9] += 1.0  # y_5: read by the predictions of y_6 to y_8
    moved = shape.outputs(weights, batch._replace(contexts=changed)) - whole
    assert moved[:, :5].abs().max() == 0
    assert (moved[:, 5:].abs().amax(0) > 1e-3).all()
    some = batch._replace(positions=batch.positions[2:5], targets=batch.targets[:, 2:5])
    torch.testing.assert_close(shape.outputs(weights, some), whole[:, 2:5])


def test_patterns_are_causal_and_make_the_outputs():
    """The last layer's attention by hand of the pattern gives the prediction again."""
    shape, weights, batch = drawn(n_layers=1, residual="plain")
    (pattern,) = shape.patterns(weights, batch.contexts)
    assert pattern.shape == (6, 4, 16, 16)
    torch.testing.assert_close(pattern.sum(-1), torch.ones_like(pattern[..., 0]))
    assert pattern.triu(1).abs().max() == 0
    h = batch.contexts @ weights["embed.W_E"] + weights["pos_embed.W_pos"]
    x = nn.functional.layer_norm(h, (64,), weights["blocks.0.ln1.w"], weights["blocks.0.ln1.b"])
    value = (x @ weights["blocks.0.attn.W_QKV"]).unflatten(-1, (4, 48))[..., 32:]
    z = torch.einsum("bhqk,bkhd->bqhd", pattern, value).flatten(2) @ weights["blocks.0.attn.W_O"]
    y = nn.functional.layer_norm(h + z, (64,), weights["blocks.0.ln2.w"], weights["blocks.0.ln2.b"])
    y = (y @ weights["blocks.0.mlp.W_in"] + weights["blocks.0.mlp.b_in"]).relu()
    h = h + z + y @ weights["blocks.0.mlp.W_out"] + weights["blocks.0.mlp.b_out"]
    last = nn.functional.layer_norm(h, (64,), weights["ln_final.w"], weights["ln_final.b"])
    predicted = (last @ weights["unembed.W_U"] + weights["unembed.b_U"])[:, ::2, 0]
    torch.testing.assert_close(predicted, shape.outputs(weights, batch))


def test_the_initial_law_is_torchs():
    """Uniform within 1 / sqrt(inputs): the largest of many draws is at the edge, the variance a third."""
    weights = model(**PAPER).initial_weights(seed=3)
    inputs = {"embed.W_E": 5, "pos_embed.W_pos": 16, "unembed.W_U": 64, "blocks.1.attn.W_QKV": 64,
              "blocks.0.attn.W_O": 64, "blocks.0.mlp.W_in": 64, "blocks.1.mlp.b_out": 64}  # fmt: skip
    for name, count in inputs.items():
        draws = weights[name] * count**0.5
        assert 0.9 < draws.abs().max() <= 1, name
        assert abs(draws.square().mean() - 1 / 3) < 5 * (4 / 45 / draws.numel()) ** 0.5, name
    assert (weights["ln_final.w"] == 1).all()
    assert (weights["blocks.0.ln2.b"] == 0).all()


def test_it_has_no_component_but_the_whole():
    assert model(**PAPER).masks("full") is None
    with pytest.raises(ValueError, match="unknown component '1:0'"):
        model(**PAPER).masks("1:0")
