"""Memory that tensors have left stays with the process, for the next ones."""

import ctypes
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# From <malloc.h>: above so many bytes free memory is given back, and a tensor is mapped alone.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
ALL = 2**31 - 1
# Where results of one batch after the other are kept: each splits the memory that a large tensor left, so the
# next one of that size takes new memory. Larger tensors are mapped alone: 80 batches took 25 GB, and now 2.5.
SMALLER = 2**26
USUAL = {M_TRIM_THRESHOLD: 2**26, M_MMAP_THRESHOLD: 2**25}  # to which glibc raises them by itself, at most

_lock = threading.Lock()
_active: list[int] = []


@contextmanager
def freed_memory_kept(largest: int = ALL) -> Iterator[None]:
    """Context manager: keep the memory of freed tensors for the next ones, where the C library is glibc.

    By its defaults, glibc gives back what the tensors of a step leave and asks for it again in the next step,
    and the kernel clears every page anew. No result depends on it. The setting holds for all threads, and
    until the last of them leaves its block. Memory that is free then is given back as tensors are freed.

    largest  bytes of the largest tensor whose memory is kept; of nested blocks the largest counts
    """
    with _lock:
        _active.append(largest)
        _set_thresholds()
    try:
        yield
    finally:
        with _lock:
            _active.remove(largest)
            _set_thresholds()


def _set_thresholds() -> None:
    kept = {M_TRIM_THRESHOLD: ALL, M_MMAP_THRESHOLD: max(_active)} if _active else USUAL
    if platform.libc_ver()[0] == "glibc":
        for parameter, size in kept.items():
            ctypes.CDLL(None).mallopt(parameter, size)
