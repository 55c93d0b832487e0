"""Memory that tensors have left stays with the process, for the next ones."""

import ctypes
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# From <malloc.h>: only above so many bytes is free memory given back, and a tensor mapped alone.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = {M_TRIM_THRESHOLD: 2**31 - 1, M_MMAP_THRESHOLD: 2**31 - 1}
USUAL = {M_TRIM_THRESHOLD: 2**26, M_MMAP_THRESHOLD: 2**25}  # to which glibc raises them by itself, at most

_lock, _blocks = threading.Lock(), 0


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """A block in which the C library keeps what is freed, where it is glibc: others are left as they are.

    By its defaults, glibc gives back what the tensors of a step leave and asks for it again in the next step,
    and the kernel clears every page anew. No result depends on it. It is of all threads, and lasts until the
    last of them leaves its block: what is free then is given back as tensors are freed.
    """
    global _blocks
    with _lock:
        _blocks += 1
        if _blocks == 1:
            _set(KEPT)
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks:
                _set(USUAL)


def _set(thresholds: dict[int, int]) -> None:
    if platform.libc_ver()[0] == "glibc":
        for parameter, size in thresholds.items():
            ctypes.CDLL(None).mallopt(parameter, size)
