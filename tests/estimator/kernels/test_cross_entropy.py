import pytest
import torch

from rllc.estimator.kernels.cross_entropy import blocks, loss_of, targets_of
from rllc.estimator.kernels.folded import Unembedding
from rllc.models.loss import token_losses


def case(soft, level=0.0):
    random = torch.Generator().manual_seed(0)
    x, W, c = (
        torch.randn(shape, generator=random, dtype=torch.float64) for shape in ((2, 6, 5), (5, 11), (11,))
    )
    targets = torch.randint(11, (3, 2), generator=random)
    if soft:
        targets = torch.randn(3, 2, 11, generator=random, dtype=torch.float64).softmax(-1)
    return x, Unembedding(W, W.T.contiguous(), c + level), targets


@pytest.mark.parametrize("level", [0.0, 2000.0, -2000.0])  # exponentials that are infinite, or all 0
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("limit", [1, 10**9])
@pytest.mark.parametrize("soft", [False, True])
def test_losses_and_gradient_are_those_of_token_losses(soft, limit, together, level):
    x, unembedding, targets = case(soft, level)
    leaf = x.clone().requires_grad_()
    logits = (leaf @ unembedding.W + unembedding.c).view(2, *targets.shape[:2], 11)
    expected = torch.stack([token_losses(each, targets).flatten() for each in logits])
    (gradient,) = torch.autograd.grad(expected.mean(1).sum(), leaf)
    seen = targets_of(targets, unembedding)
    losses, d = loss_of(x, unembedding, seen, limit=limit, together=together, gradient=True)
    torch.testing.assert_close(losses.mean(1) - seen.entropy, expected.detach().mean(1))
    torch.testing.assert_close(d, gradient)
    assert loss_of(x, unembedding, seen, limit=limit, together=together, gradient=False)[1] is None


def test_an_infinite_position_gives_no_finite_loss():
    x, unembedding, targets = case(False)
    x[0, 0] = float("inf")
    losses, _ = loss_of(
        x, unembedding, targets_of(targets, unembedding), limit=10**9, together=False, gradient=False
    )
    assert not losses[0, 0].isfinite()
    assert losses[1].isfinite().all()


@pytest.mark.parametrize("together", [False, True])
def test_blocks_cover_everything_once(together):
    for at_once in (0, 1, 4, 7, 25, 100):
        seen = torch.zeros(4, 7)
        for chains, rows in blocks(4, 7, at_once, together=together):
            seen[chains, rows] += 1
            assert seen[chains, rows].numel() <= max(at_once, 1)
        assert (seen == 1).all()
