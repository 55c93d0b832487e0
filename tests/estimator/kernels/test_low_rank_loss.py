"""The cross-entropy after a layer norm where one head moves."""

import pytest
import torch
from torch.nn.functional import cross_entropy, layer_norm, linear

from rllc.estimator.kernels import low_rank_loss as module
from rllc.estimator.kernels.low_rank_loss import Base, centred, fold_norm, low_rank_loss

ROWS, MODEL, WIDTH, VOCABULARY, EPS = 10, 12, 3, 17, 1e-3


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks that cut rows and vocabulary into unequal parts."""
    monkeypatch.setitem(module.ROWS, "cpu", 4)
    monkeypatch.setitem(module.COLUMNS, "cpu", 5)


def case(scale=1.0, *, bias=True):
    """Return z and W_O of two chains, the base, and the loss by whole logits."""
    random = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=random, dtype=torch.float64)

    z, W_O, x = normal(2, ROWS, WIDTH), normal(2, MODEL, WIDTH), normal(ROWS, MODEL)
    W, b, gain, shift = scale * normal(VOCABULARY, MODEL), normal(VOCABULARY), normal(MODEL), normal(MODEL)
    targets = torch.randint(VOCABULARY, (ROWS,), generator=random)

    def plain(z, W_O):
        read = layer_norm(x + z @ W_O.mT, (MODEL,), gain, shift, EPS)
        logits = linear(read, W, b if bias else None)
        return torch.stack([cross_entropy(each, targets) for each in logits])

    folded, c = fold_norm(W, b if bias else None, gain, shift)
    return z, W_O, Base(centred(x), centred(x) @ folded.T, folded, c, targets, EPS), plain


def with_gradients(function, *given):
    leaves = [each.clone().requires_grad_() for each in given]
    loss = function(*leaves)
    weights = torch.tensor([1.0, -2.0], dtype=torch.float64)
    return loss.detach(), *torch.autograd.grad((weights * loss).sum(), leaves)


@pytest.mark.parametrize("scale", [1.0, 600.0])  # the larger: exponentials of some targets overflow
@pytest.mark.parametrize("bias", [True, False])
def test_loss_and_gradients_are_those_of_whole_logits(bias, scale):
    z, W_O, base, plain = case(scale, bias=bias)
    expected = with_gradients(plain, z, W_O)
    found = with_gradients(lambda *given: low_rank_loss(*given, base), z, W_O)
    torch.testing.assert_close(found, expected)
    with torch.no_grad():
        torch.testing.assert_close(low_rank_loss(z, W_O, base), expected[0])
    assert (expected[0].max() > 710) == (scale > 1)


def test_vmap_over_chains_equals_one_by_one():
    z, W_O, base, plain = case()
    together = with_gradients(torch.func.vmap(lambda *given: low_rank_loss(*given, base)), z, W_O)
    torch.testing.assert_close(together, with_gradients(plain, z, W_O))


def test_vmap_over_less_than_the_head_is_refused():
    z, W_O, base, _ = case()
    with pytest.raises(ValueError, match="z and W_O must be batched"):
        torch.func.vmap(lambda each: low_rank_loss(each, W_O[0], base))(z)
