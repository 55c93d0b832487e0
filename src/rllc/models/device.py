"""Where and how precisely tensors are multiplied. State and results are float32 everywhere."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor

from rllc.memory import SMALLER, freed_memory_kept
from rllc.models.onednn import onednn


@cache
def choose(device: str) -> torch.device:
    """``auto``: CUDA where there is one, else the CPU.

    Raises ValueError for ``cuda`` without one, and for a CUDA device that torch sees and cannot use.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    place = torch.device(device)
    if place.type == "cuda":
        _check_usable(place)
    return place


def _check_usable(place: torch.device) -> None:
    """Whether the GPU is there, is ours and is one that torch was built for, a first tensor tells."""
    try:
        torch.zeros(1, device=place).add_(1).item()
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch without CUDA
        reason = (str(error).splitlines() or [""])[0]
        raise ValueError(
            f"compute.device is {place}, but nothing can be computed there: {reason} (torch "
            f"{torch.__version__}, built for CUDA {torch.version.cuda}; devices that it finds: "
            f"{torch.cuda.device_count()}; CUDA_VISIBLE_DEVICES: "
            f"{os.environ.get('CUDA_VISIBLE_DEVICES', 'not set')}). Ask for a GPU that is free and that this "
            "torch supports, or use compute.device: cpu"
        ) from error


def device_name(device: torch.device) -> str:
    """What results record: the type, and of a GPU its model, on which its random numbers depend."""
    return f"{device.type} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type


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
def tuned() -> Iterator[None]:
    """Context manager: use the fastest matrix products of a CPU, and keep the memory of freed tensors."""
    with onednn(), freed_memory_kept():
        yield


@contextmanager
def computing(device: str, precision: str) -> Iterator[Callable[[Mapping[str, Tensor]], dict[str, Tensor]]]:
    """A block in which products have this precision, fp32 or tf32; yields what moves weights to the device.

    On a CPU both are fp32. Raises ValueError for bf16, which is of training alone: it would round losses to
    three digits, and estimates are small differences of losses.
    """
    if precision == "bf16":
        raise ValueError('a measure cannot be taken at precision "bf16": expected "fp32" or "tf32"')
    place = choose(device)
    with products(precision), onednn(), freed_memory_kept(SMALLER), without_denormals():
        yield lambda weights: {name: weight.to(place) for name, weight in weights.items()}
