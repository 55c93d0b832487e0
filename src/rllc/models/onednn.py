"""Multiply float32 matrices with oneDNN, on CPUs where it is twice as fast as torch's default.

torch multiplies float32 matrices with MKL, which uses its AVX-512 kernels on Intel processors only. On an AMD
EPYC of 2024, MKL reaches 110 GFLOP/s per core, and oneDNN, which is part of torch, 240.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import torch
from torch import Tensor

# For smaller or narrower products, the overhead of a oneDNN call and its copy of a transposed matrix cost
# more time than it saves.
MULTIPLICATIONS = 2**21
NARROW = 32
PROCESSOR = Path("/proc/cpuinfo")
OVERRIDDEN = ("mm", "addmm", "addmm.out", "bmm", "baddbmm_")

_within: ContextVar[bool] = ContextVar("_within", default=False)


@cache
def faster() -> bool:
    """Return whether the processor has AVX-512 and is not Intel's, and torch has the required functions."""
    has = hasattr(torch.library, "get_kernel") and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    if not (has and PROCESSOR.is_file()):
        return False
    intel = "GenuineIntel" in PROCESSOR.read_text(encoding="utf-8", errors="replace")
    return not intel and torch.backends.cpu.get_cpu_capability() == "AVX512"


@contextmanager
def onednn(*, where: bool | None = None) -> Iterator[None]:
    """Context manager: use oneDNN for this thread's products of float32 matrices on the CPU.

    where  overrides ``faster()``. If false, and for small, narrow and other products, nothing changes

    The results equal MKL's up to rounding, at every level of derivatives: autograd and ``torch.func`` use the
    same few operators, and these are replaced once per process. Outside of blocks, the replacements call
    torch's operators, at the cost of a microsecond. Restoring the operators could crash a thread that is
    using one.
    """
    if not (faster() if where is None else where):
        yield
        return
    _exchange()
    before = _within.set(True)
    try:
        yield
    finally:
        _within.reset(before)


@cache
def _exchange() -> torch.library.Library:
    library = torch.library.Library("aten", "IMPL")
    with catch_warnings():
        simplefilter("ignore", UserWarning)  # the warning that torch's kernels are overridden
        for name in OVERRIDDEN:
            kernel = _or_torchs(name, globals()["_" + name.replace(".", "_")])
            library.impl(name, kernel, "CPU", with_keyset=True, allow_override=True)
    return library


def _or_torchs(name: str, ours: Callable[..., Tensor | None]) -> Callable[..., Tensor]:
    """Return a kernel that calls ``ours``, or torch's outside of blocks and where ``ours`` returns None."""
    torchs = torch.library.get_kernel(f"aten::{name}", "CPU")

    def kernel(keys: Any, *args: Any, **options: Any) -> Tensor:
        made = ours(*args, **options) if _within.get() else None
        return torchs.call_boxed(keys, *args, **options) if made is None else made

    return kernel


def _pays(a: Tensor, b: Tensor, dims: int) -> bool:
    """Return whether oneDNN pays for a [., m, k] b [., k, n] of ``dims`` dims, in full float32 precision."""
    if not a.ndim == b.ndim == dims:
        return False
    (m, k), n = a.shape[-2:], b.shape[-1]
    if m * k * n < MULTIPLICATIONS or min(m, n) < NARROW or k != b.shape[-2]:
        return False
    exact = torch.get_float32_matmul_precision() == "highest"
    return exact and a.dtype is b.dtype is torch.float32


def _product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return a [m, k] b [k, n] (+ bias [n])."""
    return torch.ops.mkldnn._linear_pointwise.default(a, _weight(b), bias, "none", [], "")


def _sum(c: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return c [m, n] + a b."""
    return torch.ops.mkldnn._linear_pointwise.binary(a, c, _weight(b), None, "add")


def _weight(b: Tensor) -> Tensor:
    """Return b transposed; a copy where it has gaps, which would make oneDNN a thousand times slower."""
    return b.t() if b.is_contiguous() or b.t().is_contiguous() else b.t().contiguous()


def _mm(a: Tensor, b: Tensor) -> Tensor | None:
    return _product(a, b) if _pays(a, b, 2) else None


def _bmm(a: Tensor, b: Tensor) -> Tensor | None:
    if not _pays(a, b, 3) or len(a) != len(b):
        return None
    if len(a) == 1:
        return _product(a[0], b[0])[None]
    return torch.stack([_product(x, y) for x, y in zip(a, b, strict=True)])


def _addmm(c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor | None:
    if not _pays(a, b, 2) or c.dtype is not torch.float32 or beta != 1:
        return None
    row, whole = c.shape == b.shape[1:], c.shape == (len(a), b.shape[1])
    if not (row or whole):
        return None
    if alpha != 1:
        return torch.add(c, _product(a, b), alpha=alpha)
    return _product(a, b, c) if row else _sum(c, a, b)


def _addmm_out(c: Tensor, a: Tensor, b: Tensor, *, out: Tensor, **factors: float) -> Tensor | None:
    made = _addmm(c, a, b, **factors) if out.dtype is torch.float32 else None
    return None if made is None or out.shape != made.shape else out.copy_(made)


def _baddbmm_(c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor | None:
    if not _pays(a, b, 3) or c.dtype is not torch.float32 or beta != 1:
        return None
    if c.shape != (len(a), a.shape[1], b.shape[2]) or len(a) != len(b):
        return None
    for into, x, y in zip(c, a, b, strict=True):
        into.add_(_product(x, y), alpha=alpha)
    return c
