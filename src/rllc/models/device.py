"""Choose the device and precision of matrix products. State and results are float32 everywhere."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor

from rllc.memory import freed_memory_kept
from rllc.models.onednn import onednn


@cache
def choose(device: str) -> torch.device:
    """Return the torch device; ``auto`` is CUDA where available, else the CPU.

    Raises ValueError for ``cuda`` without a CUDA device, and for a CUDA device that torch cannot use.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    place = torch.device(device)
    if place.type == "cuda":
        _check_usable(place)
    return place


def _check_usable(place: torch.device) -> None:
    """Raise ValueError unless a first tensor can be computed on the GPU."""
    try:
        torch.zeros(1, device=place).add_(1).item()
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch without CUDA
        reason = (str(error).splitlines() or [""])[0]
        raise ValueError(
            f"compute.device is {place}, but nothing can be computed there: {reason} (torch "
            f"{torch.__version__}, built for CUDA {torch.version.cuda}; devices that it finds: "
            f"{torch.cuda.device_count()}; CUDA_VISIBLE_DEVICES: "
            f"{os.environ.get('CUDA_VISIBLE_DEVICES', 'not set')}). Request a free GPU that this torch "
            "supports, or set compute.device: cpu"
        ) from error


def device_name(device: torch.device) -> str:
    """Return the device name that results record. For a GPU: its model, since random numbers depend on it."""
    return f"{device.type} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type


@contextmanager
def without_denormals() -> Iterator[None]:
    """Context manager: treat numbers below 1.2e-38 as 0 on a CPU.

    Coupled weight decay shrinks weights without a gradient by a constant factor per step, below the smallest
    normal number. Products with such numbers are many times slower. The training of a sorting model fell from
    20 steps per second to 3.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextmanager
def product_precision(precision: str) -> Iterator[None]:
    """Context manager: set whether CUDA multiplies float32 matrices as TF32; restore the setting after."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def tuned() -> Iterator[None]:
    """Context manager: use the fastest CPU matrix products and keep the memory of freed tensors."""
    with onednn(), freed_memory_kept():
        yield


@contextmanager
def computing(device: str, precision: str) -> Iterator[Callable[[Mapping[str, Tensor]], dict[str, Tensor]]]:
    """Context manager: set the precision of products, and yield a function that moves weights to the device.

    Precision is fp32 or tf32; on a CPU both are fp32. Raises ValueError for bf16, which is for training only:
    it would round losses to three digits, and estimates are small differences of losses.
    """
    if precision == "bf16":
        raise ValueError('a measure cannot be taken at precision "bf16": expected "fp32" or "tf32"')
    place = choose(device)
    with product_precision(precision), onednn(), without_denormals():
        yield lambda weights: {name: weight.to(place) for name, weight in weights.items()}
