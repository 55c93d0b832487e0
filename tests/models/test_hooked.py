from dataclasses import replace

import pytest
import torch

from rllc.models.hooked import as_hooked
from rllc.models.transformer import Architecture, forward, shapes

ARCHITECTURE = Architecture(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=10, d_vocab=13)


def random_weights() -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=random) for name, shape in shapes(ARCHITECTURE).items()}


def test_weights_arrive_unprocessed_and_copied():
    weights = random_weights()
    model = as_hooked(weights, ARCHITECTURE)
    named = dict(model.named_parameters())
    assert named.keys() == weights.keys()
    for name, w in weights.items():
        assert torch.equal(named[name], w)
        assert named[name].data_ptr() != w.data_ptr()


@pytest.mark.parametrize(
    "change", [{"layer_norm": False}, {"layer_norm_eps": 0.5}, {"positions": "standard"}]
)
def test_every_choice_of_the_architecture_arrives(change):
    architecture = replace(ARCHITECTURE, **change)
    weights = {name: random_weights()[name] * 0.3 for name in shapes(architecture)}
    tokens = torch.arange(10)[None]
    torch.testing.assert_close(
        as_hooked(weights, architecture)(tokens), forward(weights, tokens, architecture), rtol=1e-5, atol=1e-5
    )


def test_the_global_generator_is_left_alone():
    weights, state = random_weights(), torch.random.get_rng_state()
    as_hooked(weights, ARCHITECTURE)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_hooks_see_the_patterns():
    _, cache = as_hooked(random_weights(), ARCHITECTURE).run_with_cache(torch.arange(6)[None])
    pattern = cache["blocks.1.attn.hook_pattern"]
    assert pattern.shape == (1, 2, 6, 6)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(1, 2, 6))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("unembed.b_U"), "lack.*unembed.b_U"),
        (lambda w: w.update({"blocks.0.mlp.W_in": torch.zeros(1)}), "blocks.0.mlp.W_in"),
        (lambda w: w.update({"embed.W_E": torch.zeros(14, 8)}), r"embed.W_E has shape \(14, 8\)"),
    ],
)
def test_weights_of_another_model_are_refused(change, message):
    weights = random_weights()
    change(weights)
    with pytest.raises(ValueError, match=message):
        as_hooked(weights, ARCHITECTURE)
