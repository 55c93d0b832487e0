import pytest
import torch

from rllc.estimator.kernels import attention
from rllc.estimator.kernels.attention import asked_at, attend
from rllc.models.transformer import attention_pattern


@pytest.mark.parametrize("fused_from", [1, 1000])
@pytest.mark.parametrize("positions", [None, [0, 1, 2, 3], [1, 4, 5]])
def test_attention_and_its_gradients(monkeypatch, fused_from, positions):
    monkeypatch.setattr(attention, "FUSED_FROM", fused_from)
    random = torch.Generator().manual_seed(0)
    at = None if positions is None else torch.tensor(positions)
    count = 6 if at is None else len(at)
    inputs = [
        torch.randn(2, 3, rows, 4, generator=random, dtype=torch.float64, requires_grad=True)
        for rows in (count, 6, 6)
    ]
    d = torch.randn(2, 3, count, 4, generator=random, dtype=torch.float64)
    expected = attention_pattern(inputs[0] * 2, inputs[1], at) @ inputs[2]  # d_head is 4
    gradients = torch.autograd.grad(expected, inputs, d)
    with torch.no_grad():
        z, backward = attend(*inputs, asked_at(at, 6, d), gradient=True)
        torch.testing.assert_close(z, expected)
        for found, gradient in zip(backward(d), gradients, strict=True):
            torch.testing.assert_close(found, gradient)
        assert attend(*inputs, asked_at(at, 6, d), gradient=False)[1] is None


@pytest.mark.parametrize(
    ("positions", "leading"), [(None, True), ([0, 1, 2, 3, 4], True), ([0, 1], True), ([1, 3], False)]
)
def test_leading_positions_are_found_and_no_device_is_waited_for(positions, leading):
    at = None if positions is None else torch.tensor(positions)
    assert asked_at(at, 6, torch.zeros(1)).leading is leading
    away = None if at is None else at.to("meta")  # holds no values: reading one raises
    assert asked_at(away, 6, torch.zeros(1, device="meta")).leading is (leading and positions != [0, 1])
