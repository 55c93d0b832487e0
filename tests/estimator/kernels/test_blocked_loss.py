"""The cross-entropy in blocks of rows and of the vocabulary."""

import pytest
import torch

from rllc.estimator.kernels import blocked_loss as module
from rllc.estimator.kernels.blocked_loss import blocked_loss


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks that cut rows and vocabulary into unequal parts."""
    monkeypatch.setitem(module.ROWS, "cpu", 4)
    monkeypatch.setitem(module.COLUMNS, "cpu", 5)


def case(level=0.0, scale=1.0, *, bias=True):
    random = torch.Generator().manual_seed(0)
    x, W, b = (
        torch.randn(shape, generator=random, dtype=torch.float64) for shape in ((3, 6, 7), (13, 7), (13,))
    )
    return x, scale * W, b + level if bias else None, torch.randint(13, (6,), generator=random)


def expected(x, W, b, targets):
    leaf = x.clone().requires_grad_()
    logits = torch.nn.functional.linear(leaf, W, b)
    loss = torch.stack([torch.nn.functional.cross_entropy(each, targets) for each in logits])
    return loss.detach(), torch.autograd.grad(loss.sum(), leaf)[0]


@pytest.mark.parametrize("scale", [1.0, 600.0])  # the larger: exponentials of some targets overflow
@pytest.mark.parametrize("level", [0.0, 3000.0, -3000.0])  # exponentials of logits are infinite, or 0
@pytest.mark.parametrize("bias", [True, False])
def test_loss_and_gradient_are_those_of_whole_logits(small_blocks, bias, level, scale):
    x, W, b, targets = case(level, scale, bias=bias)
    loss, gradient = expected(x, W, b, targets)
    leaf = x.clone().requires_grad_()
    found = blocked_loss(leaf, W, b, targets)
    torch.testing.assert_close(found.detach(), loss)
    weights = torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)
    (slope,) = torch.autograd.grad((weights * found).sum(), leaf)
    torch.testing.assert_close(slope, gradient * weights[:, None, None])
    with torch.no_grad():
        torch.testing.assert_close(blocked_loss(x, W, b, targets), loss)


def test_exponentials_of_some_targets_overflow_at_the_larger_scale():
    x, W, b, targets = case(scale=600.0)
    log_p = torch.nn.functional.linear(x, W, b).log_softmax(-1)
    own = log_p.gather(-1, targets.expand(3, 6)[..., None])
    assert own.min() < -710 < own.max()


def test_vmap_over_x_equals_one_by_one(small_blocks):
    x, W, b, targets = case()
    leaf = x.clone().requires_grad_()
    together = torch.func.vmap(lambda each: blocked_loss(each, W, b, targets))(leaf)
    loss, gradient = expected(x, W, b, targets)
    torch.testing.assert_close(together.detach(), loss)
    torch.testing.assert_close(torch.autograd.grad(together.sum(), leaf)[0], gradient)


def test_vmap_over_the_unembedding_is_refused():
    x, W, b, targets = case()
    with pytest.raises(ValueError, match="only x can be batched"):
        torch.func.vmap(lambda each: blocked_loss(x, each, b, targets))(W.expand(2, -1, -1))


def test_an_infinite_row_gives_no_finite_loss(small_blocks):
    x, W, b, targets = case()
    x[0, 0, 0] = float("inf")
    loss = blocked_loss(x, W, b, targets)
    assert not loss[0].isfinite()
    assert loss[1:].isfinite().all()


def test_second_derivatives_are_refused_not_wrong():
    x, W, b, targets = case()
    leaf = x.requires_grad_()
    (slope,) = torch.autograd.grad(blocked_loss(leaf, W, b, targets).sum(), leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(slope.sum(), leaf)
