"""The functional model is TransformerLens' model: same weights, same logits, same gradients."""

from math import prod

import pytest
import torch

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
