import torch

from rllc.models.device import computing, without_denormals

SMALL = torch.tensor([1e-38, 1e-30])


def halved():
    return (SMALL * 0.5).tolist()


def test_denormal_numbers_are_zero_in_the_block_and_only_there():
    assert halved()[0] > 0
    with without_denormals():
        assert halved()[0] == 0
        assert halved()[1] > 0
    assert halved()[0] > 0


def test_measures_take_them_for_zero_too():
    with computing("cpu", "fp32"):
        assert halved()[0] == 0
    assert halved()[0] > 0
