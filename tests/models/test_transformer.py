"""The functional model is TransformerLens' model: same weights, same logits, same gradients."""

from dataclasses import replace
from math import prod

import pytest
import torch

from rllc.models import transformer
from rllc.models.hooked import as_hooked
from rllc.models.loss import next_token_loss
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


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("at", [None, [1, 2, 9, 16]])
def test_large_batches_of_few_tokens_are_computed_by_looking_up(variant, at):
    architecture, weights, _ = make(*variant)
    architecture = replace(architecture, d_vocab=3)
    weights = {name: w[:3] if name == "embed.W_E" else w for name, w in weights.items()}
    weights |= {name: weights[name][..., :3] for name in ("unembed.W_U", "unembed.b_U")}
    tokens = torch.randint(0, 3, (6, 17), generator=torch.Generator().manual_seed(0))
    at = None if at is None else torch.tensor(at)
    leaves = {name: w.double().requires_grad_() for name, w in weights.items()}

    def with_derivatives(parts):
        logits = torch.cat([forward(leaves, part, architecture, at) for part in parts])
        loss = logits.logsumexp(-1).sum()
        slopes = torch.autograd.grad(loss, list(leaves.values()), create_graph=True)
        curved = torch.autograd.grad(sum(s.square().sum() for s in slopes), list(leaves.values()))
        return logits, *slopes, *curved

    assert transformer.first_inputs(leaves, tokens, architecture)[2] is not None
    for looked_up, direct in zip(with_derivatives([tokens]), with_derivatives(tokens.split(3)), strict=True):
        torch.testing.assert_close(looked_up, direct)
