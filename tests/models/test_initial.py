import math

import pytest
import torch

from rllc.models.initial import initial_weights, sinusoidal_positions
from rllc.models.transformer import Architecture, shapes

MODEL = Architecture(n_layers=2, n_heads=4, d_model=64, d_head=16, n_ctx=32, d_vocab=200)


def test_names_shapes_biases_and_norms():
    weights = initial_weights(MODEL, seed=0)
    assert {name: tuple(w.shape) for name, w in weights.items()} == shapes(MODEL)
    for name, w in weights.items():
        assert w.dtype == torch.float32
        if name.endswith(".w"):
            assert (w == 1).all()
        elif ".b" in name.removeprefix("blocks"):
            assert (w == 0).all()


def test_the_default_is_that_of_transformer_lens():
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    config = HookedTransformerConfig(
        n_layers=2, n_heads=4, d_model=64, d_head=16, n_ctx=32, d_vocab=200, attn_only=True,
        positional_embedding_type="shortformer", normalization_type="LN", seed=0,
    )  # fmt: skip
    theirs = dict(HookedTransformer(config).named_parameters())
    ours = initial_weights(MODEL, seed=0)
    assert theirs.keys() == ours.keys()
    for name, w in ours.items():
        if "W_" not in name:
            assert torch.equal(w, theirs[name])
            continue
        for draw in (w, theirs[name].detach()):
            error = 4 / math.sqrt(2 * w.numel())  # of a standard deviation, relative, at four sigma
            assert draw.std().item() == pytest.approx(0.8 / 8, rel=error)
            assert abs(draw.mean().item()) < 0.1 * 4 / math.sqrt(w.numel())


def test_scales_change_only_their_weights():
    plain = initial_weights(MODEL, seed=3)
    scaled = initial_weights(MODEL, seed=3, embedding_scale=1.0, query_key_factor=0.1, position_scale=0.2)
    factors = {"W_E": 10.0, "W_Q": 0.1, "W_K": 0.1, "W_pos": 2.0}
    for name, w in plain.items():
        torch.testing.assert_close(scaled[name], w * factors.get(name.split(".")[-1], 1.0))


def test_a_seed_is_a_set_of_independent_streams():
    first, again, other = (initial_weights(MODEL, seed=seed) for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    matrices = {name: w.flatten()[:2000] for name, w in first.items() if "W_" in name}
    matrices |= {f"{name}, seed 2": w.flatten()[:2000] for name, w in other.items() if "W_" in name}
    correlations = torch.corrcoef(torch.stack(list(matrices.values()))) - torch.eye(len(matrices))
    assert correlations.abs().max() < 5 / math.sqrt(2000)


def test_a_weight_does_not_depend_on_the_rest_of_the_model():
    deeper = Architecture(**{**MODEL.__dict__, "n_layers": 3, "n_ctx": 8})
    ours, theirs = initial_weights(MODEL, seed=0), initial_weights(deeper, seed=0)
    assert torch.equal(ours["blocks.1.attn.W_Q"], theirs["blocks.1.attn.W_Q"])


def test_sinusoidal_positions():
    table = sinusoidal_positions(32, 64)
    assert table.shape == (32, 64)
    assert torch.equal(table[0], torch.cat([torch.zeros(32), torch.ones(32)]))
    torch.testing.assert_close((table[:, :32] ** 2 + table[:, 32:] ** 2), torch.ones(32, 32))
    assert table[1, 0].item() == pytest.approx(math.sin(2.8))
    assert table[8, 31].item() == pytest.approx(1.0)  # a quarter of the slowest wave, one turn per context
    angles = torch.atan2(table[1, :32], table[1, 32:]).double()
    torch.testing.assert_close(
        angles.log().diff(), angles.log().diff().mean().expand(31), rtol=1e-3, atol=1e-4
    )
    weights = initial_weights(MODEL, seed=0, position_init="sinusoidal", position_scale=2.0)
    torch.testing.assert_close(weights["pos_embed.W_pos"], 2 * table)


def test_refusals():
    with pytest.raises(ValueError, match='unknown position_init \'sine\': expected "normal" or "sinusoidal"'):
        initial_weights(MODEL, seed=0, position_init="sine")
    with pytest.raises(ValueError, match="d_model is 7"):
        sinusoidal_positions(4, 7)
