"""Freed memory is used again: counted in page faults of processes of their own."""

import platform
import subprocess
import sys

import pytest

# 40 MB, more than glibc ever keeps by itself, 20 times over
COUNT = """
import resource
import numpy as np
from rllc.job.memory import keep_freed_memory
assert not {keep} or keep_freed_memory()
np.ones(5_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(5_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is glibc's")
def test_large_arrays_use_the_same_pages_again():
    returned, kept = (
        int(subprocess.check_output([sys.executable, "-c", COUNT.format(keep=keep)]))
        for keep in (False, True)
    )
    assert returned > 100  # 400 even where the kernel gives pages of 2 MB by itself
    assert kept < 20


def test_other_c_libraries_are_left_as_they_are(monkeypatch):
    from rllc.job import memory

    monkeypatch.setattr(memory.platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(memory.ctypes, "CDLL", None)
    assert memory.keep_freed_memory() is False
