"""Where and how precisely tensors are multiplied. State and results are float32 everywhere."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor


def choose(device: str) -> torch.device:
    """``auto``: CUDA where there is one, else the CPU. Raises ValueError for ``cuda`` without one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("compute.device is cuda, but torch finds no CUDA device; use auto or cpu")
    return torch.device(device)


@contextmanager
def computing(device: str, precision: str) -> Iterator[Callable[[Mapping[str, Tensor]], dict[str, Tensor]]]:
    """A block in which products have this precision; yields what moves weights to the device.

    On a CPU every precision is fp32 except bf16, which is autocast there too.
    """
    place = choose(device)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        with torch.autocast(place.type, torch.bfloat16, enabled=precision == "bf16"):
            yield lambda weights: {name: weight.to(place) for name, weight in weights.items()}
    finally:
        torch.set_float32_matmul_precision(before)
