import pytest
import torch

from rllc.models.device import choose, computing, device_name, without_denormals

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


def test_a_measure_is_not_taken_in_bf16():
    with pytest.raises(ValueError, match='"bf16": expected "fp32" or "tf32"'), computing("cpu", "bf16"):
        pass


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_where_no_gpu_can_be_used_the_error_says_what_torch_found(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    with pytest.raises(ValueError, match=r"CUDA_VISIBLE_DEVICES: 7.*compute.device: cpu"):
        choose("cuda")
    assert device_name(choose("auto")) == "cpu"


def test_results_record_which_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"model of {device}")
    assert device_name(torch.device("cuda", 1)) == "cuda (model of cuda:1)"
