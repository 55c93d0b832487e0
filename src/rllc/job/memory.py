"""Memory that tensors have left stays with the process, for the next ones."""

import ctypes
import platform

# From <malloc.h>: only above so many bytes is free memory given back, and a tensor mapped alone.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
BYTES = 2**31 - 1


def keep_freed_memory() -> bool:
    """Have the C library keep what is freed; whether it can (glibc does, others are left as they are).

    By its defaults, glibc gives back what the tensors of a step leave and asks for it again in the next step,
    and the kernel clears every page anew. No result depends on it.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    trimmed, mapped = mallopt(M_TRIM_THRESHOLD, BYTES), mallopt(M_MMAP_THRESHOLD, BYTES)
    return bool(trimmed and mapped)
