"""The functional model is TransformerLens' model: same weights, same logits, same gradients."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest
import torch
from hooked import as_hooked

from rllc.models import one_layer, transformer
from rllc.models.loss import next_token_loss, token_losses
from rllc.models.transformer import Architecture, forward, shapes
from rllc.tasks.batch import Batch

VARIANTS = [
    (layers, positions, norm)
    for layers in (1, 2, 3)
    for positions in ("shortformer", "standard")
    for norm in (True, False)
]


def make(layers: int, positions: str, norm: bool) -> tuple[Architecture, dict, torch.Tensor]:
    """A model with no weight at a special value (biases and layer norms random too), and tokens."""
    architecture = Architecture(layers, 3, 24, 8, 20, 31, positions, norm)
    random = torch.Generator().manual_seed(layers)
    weights = {
        name: torch.randn(shape, generator=random) * 0.3 for name, shape in shapes(architecture).items()
    }
    return architecture, weights, torch.randint(0, 31, (5, 17), generator=random)


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_equal_transformer_lens(variant):
    architecture, weights, tokens = make(*variant)
    expected = as_hooked(weights, architecture)(tokens)
    torch.testing.assert_close(forward(weights, tokens, architecture), expected, rtol=1e-5, atol=1e-5)


def test_the_epsilon_of_the_layer_norm_is_that_of_transformer_lens():
    architecture, weights, tokens = make(2, "shortformer", True)
    architecture = replace(architecture, layer_norm_eps=0.5)
    expected = as_hooked(weights, architecture)(tokens)
    torch.testing.assert_close(forward(weights, tokens, architecture), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("positions", ["shortformer", "standard"])
def test_model_without_layers_equals_transformer_lens_and_every_weight_has_a_gradient(positions):
    architecture, weights, tokens = make(0, positions, True)
    hooked = as_hooked(weights, architecture)
    torch.testing.assert_close(forward(weights, tokens, architecture), hooked(tokens), rtol=1e-5, atol=1e-5)
    assert ("pos_embed.W_pos" in weights) == (positions == "standard")
    at = torch.tensor([0, 3, 11])
    leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
    loss = next_token_loss(architecture)(leaves, Batch(tokens, at, tokens[:, at + 1]))
    assert all(bool(grad.any()) for grad in torch.autograd.grad(loss, list(leaves.values())))


def test_model_without_layers_reaches_the_entropy_of_bigrams():
    """One-hot embeddings and log probabilities as unembedding predict a Markov chain as well as it can be."""
    vocabulary = 6
    chain = np.random.default_rng(0).dirichlet(np.full(vocabulary, 0.5), size=vocabulary)
    architecture = Architecture(0, 1, vocabulary, 1, 2, vocabulary, layer_norm=False)
    weights = {
        "embed.W_E": torch.eye(vocabulary, dtype=torch.float64),
        "unembed.W_U": torch.from_numpy(np.log(chain)),
        "unembed.b_U": torch.zeros(vocabulary, dtype=torch.float64),
    }
    assert {name: tuple(w.shape) for name, w in weights.items()} == shapes(architecture)
    pairs = torch.cartesian_prod(torch.arange(vocabulary), torch.arange(vocabulary))
    losses = token_losses(forward(weights, pairs, architecture)[:, 0], pairs[:, 1])
    entropy = -(chain * np.log(chain)).sum(1).mean()
    assert float((losses * torch.from_numpy(chain.ravel())).sum()) / vocabulary == pytest.approx(entropy)


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_equal_transformer_lens(variant):
    architecture, weights, tokens = make(*variant)
    positions = torch.tensor([0, 3, 4, 11, 15])
    leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
    next_token_loss(architecture)(leaves, Batch(tokens, positions, tokens[:, positions + 1])).backward()
    hooked = as_hooked(weights, architecture)
    log_probabilities = hooked(tokens).log_softmax(-1)[:, positions]
    log_probabilities.gather(-1, tokens[:, positions + 1, None]).mean().neg().backward()
    norm = torch.cat([w.grad.flatten() for w in leaves.values()]).norm()
    for name, parameter in hooked.named_parameters():
        error = (leaves[name].grad - parameter.grad).norm()
        # The gradient of b_K is 0 in exact arithmetic, so it can be held to the whole gradient only.
        assert error <= 1e-5 * (norm if name.endswith("b_K") else parameter.grad.norm()), name


@pytest.mark.parametrize("variant", VARIANTS)
def test_asked_positions_are_rows_of_all_positions(variant):
    architecture, weights, tokens = make(*variant)
    at = torch.tensor([1, 2, 9, 16])
    everywhere = forward(weights, tokens, architecture)
    torch.testing.assert_close(
        forward(weights, tokens, architecture, at), everywhere[:, at], rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(("layers", "count"), [(1, 3_091_336), (2, 3_355_016)])
def test_the_published_parameter_counts(layers, count):
    architecture = Architecture(layers, n_heads=8, d_model=256, d_head=32, n_ctx=1024, d_vocab=5000)
    assert sum(prod(shape) for shape in shapes(architecture).values()) == count


def with_derivatives(logits, leaves):
    """Logits with first and second derivatives of what depends on all of them."""
    slopes = torch.autograd.grad(logits.logsumexp(-1).sum(), list(leaves.values()), create_graph=True)
    curved = torch.autograd.grad(sum(s.square().sum() for s in slopes), list(leaves.values()))
    return logits, *slopes, *curved


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("at", [None, [1, 2, 9, 16]])
def test_large_batches_of_few_tokens_are_computed_by_looking_up(variant, at, monkeypatch):
    monkeypatch.setattr(one_layer, "ROWS", 0)
    architecture, weights, _ = make(*variant)
    architecture = replace(architecture, d_vocab=3)
    weights = {name: w[:3] if name == "embed.W_E" else w for name, w in weights.items()}
    weights |= {name: weights[name][..., :3] for name in ("unembed.W_U", "unembed.b_U")}
    tokens = torch.randint(0, 3, (6, 17), generator=torch.Generator().manual_seed(0))
    at = None if at is None else torch.tensor(at)
    leaves = {name: w.double().requires_grad_() for name, w in weights.items()}

    def of(parts):
        logits = torch.cat([forward(leaves, part, architecture, at) for part in parts])
        return with_derivatives(logits, leaves)

    assert transformer.first_inputs(leaves, tokens, architecture)[2] is not None
    for looked_up, direct in zip(of([tokens]), of(tokens.split(3)), strict=True):
        torch.testing.assert_close(looked_up, direct)


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("at", [None, [1, 2, 9, 16]])
def test_one_layer_from_what_tokens_and_positions_contribute(norm, at, monkeypatch):
    """The same as the general way, to rounding in double: values, two derivatives, vmap and forward mode."""
    architecture, weights, _ = make(1, "standard", norm)
    tokens = torch.randint(0, 31, (31, 17), generator=torch.Generator().manual_seed(0))
    at = None if at is None else torch.tensor(at)
    leaves = {name: w.double().requires_grad_() for name, w in weights.items()}
    along = {name: torch.randn_like(w) for name, w in leaves.items()}
    both = {name: torch.stack([w, w + 0.1 * along[name]]) for name, w in leaves.items()}

    def of(weights):
        return forward(weights, tokens, architecture, at)

    def computed():
        _, forwards = torch.func.jvp(of, (leaves,), (along,))
        return *with_derivatives(of(leaves), leaves), forwards, torch.func.vmap(of)(both)

    quickly = computed()
    monkeypatch.setattr(one_layer, "ROWS", 0)
    generally = computed()
    lens = as_hooked(weights, architecture)(tokens).double()
    torch.testing.assert_close(quickly[0], lens if at is None else lens[:, at], rtol=1e-4, atol=1e-5)
    assert not torch.equal(quickly[0], generally[0])
    for one, other in zip(quickly, generally, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)
