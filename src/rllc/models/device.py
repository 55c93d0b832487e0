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
def without_denormals() -> Iterator[None]:
    """A block in which a CPU takes numbers below 1.2e-38 for 0.

    Coupled weight decay shrinks weights that have no gradient by a constant factor per step, past the
    smallest normal number, and products with such numbers are many times slower: the training of a model
    that sorts fell from 20 steps per second to 3.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextmanager
def products(precision: str) -> Iterator[None]:
    """A block in which CUDA multiplies float32 matrices as TF32 or not, whatever was set before."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def computing(device: str, precision: str) -> Iterator[Callable[[Mapping[str, Tensor]], dict[str, Tensor]]]:
    """A block in which products have this precision; yields what moves weights to the device.

    On a CPU every precision is fp32 except bf16, which is autocast there too.
    """
    place = choose(device)
    autocast = torch.autocast(place.type, torch.bfloat16, enabled=precision == "bf16")
    with products(precision), autocast, without_denormals():
        yield lambda weights: {name: weight.to(place) for name, weight in weights.items()}
