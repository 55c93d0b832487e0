"""Freed memory is used again: counted in page faults of processes of their own."""

import platform
import subprocess
import sys

import pytest

from rllc import memory

# 40 MB, more than glibc ever keeps by itself, 20 times over, and what is left of 20 pieces of it that are freed
COUNT = """
import contextlib, resource
import numpy as np
from rllc.memory import freed_memory_kept

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 2**20

block = freed_memory_kept if {kept} else contextlib.nullcontext
with block(), block():
    np.ones(5_000_000)
    before = faults()
    for _ in range(20):
        np.ones(5_000_000)
    print(faults() - before)
    before = megabytes()
    pieces = [np.ones(5_000_000) for _ in range(20)]
    del pieces
    print(megabytes() - before)
np.ones(50_000)
print(megabytes() - before)
"""
glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is glibc's")


def counts(kept):
    return [
        int(each)
        for each in subprocess.check_output(
            [sys.executable, "-c", COUNT.format(kept=kept)], text=True
        ).split()
    ]


@glibc
def test_large_arrays_use_the_same_pages_again_and_give_them_back_after_the_block():
    faults, inside, after = counts(kept=True)
    assert faults < 20
    assert inside > 600  # of 800
    assert after < 200
    assert counts(kept=False)[0] > 100  # 400 even where the kernel gives pages of 2 MB by itself


# Two tensors of 100 MB per batch, and a small result of each that stays.
GROWTH = """
import resource
import torch
from rllc.memory import {largest}, freed_memory_kept

results = []
with freed_memory_kept({largest}):
    for batch in range(24):
        logits = torch.ones(250, 100_000)
        results.append(torch.log_softmax(logits, -1)[:, :1].sum(1).numpy())
        del logits
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak_megabytes(largest):
    script = GROWTH.format(largest=largest)
    return int(subprocess.check_output([sys.executable, "-c", script], text=True))


@glibc
def test_results_kept_between_large_tensors_do_not_make_memory_grow():
    assert peak_megabytes("SMALLER") < peak_megabytes("ALL") - 1000


def test_other_c_libraries_are_left_as_they_are(monkeypatch):
    monkeypatch.setattr(memory.platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(memory.ctypes, "CDLL", None)
    with memory.freed_memory_kept():
        pass
