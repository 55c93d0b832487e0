import numpy as np
import pytest
import torch
from hooked import as_hooked

from rllc.measures.composition import composition_scores
from rllc.models.transformer import Architecture, shapes


def random_weights(architecture: Architecture) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=random) for name, shape in shapes(architecture).items()}


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("mode", ["q", "k", "v"])
def test_equal_to_transformer_lens(layers, mode):
    architecture = Architecture(layers, n_heads=3, d_model=20, d_head=6, n_ctx=8, d_vocab=9)
    weights = random_weights(architecture)
    got = composition_scores(weights, architecture=architecture)[f"{mode}_composition"]
    heads = layers * 3
    with torch.no_grad():
        expected = as_hooked(weights, architecture).all_composition_scores(mode.upper())
    expected = expected.numpy().reshape(heads, heads)
    later = np.arange(heads)[:, None] // 3 < np.arange(heads)[None] // 3
    assert got.dims == ("head", "later_head")
    assert np.array_equal(np.isfinite(got.values), later)
    np.testing.assert_allclose(got.values[later], expected[later], rtol=1e-5)


def test_rank_one_truths():
    """OV_1 = a b^T: its K-composition with QK_2^T = b c^T is 1, with d c^T, d orthogonal to b, 0."""
    architecture = Architecture(n_layers=2, n_heads=2, d_model=4, d_head=1, n_ctx=4, d_vocab=3)
    weights = {name: torch.zeros(shape) for name, shape in shapes(architecture).items()}
    a, b, c, d = torch.eye(4)
    weights["blocks.0.attn.W_V"][:, :, 0] = a
    weights["blocks.0.attn.W_O"][:, 0] = 7 * b
    weights["blocks.1.attn.W_K"][:, :, 0] = torch.stack([3 * b, b + d])
    weights["blocks.1.attn.W_Q"][:, :, 0] = torch.stack([c, d])
    got = composition_scores(weights, architecture=architecture)
    np.testing.assert_allclose(got.k_composition.sel(head="0:0", later_head=["1:0", "1:1"]), [1, 0.5**0.5])
    np.testing.assert_allclose(got.q_composition.sel(head="0:0", later_head=["1:0", "1:1"]), [0, 0])
    assert got.v_composition.isnull().all()  # OV_2 is 0: the score is not defined
