import os
import re
import subprocess
import sys

import pytest

from rllc.slurm import failure_reason


@pytest.mark.parametrize(
    ("state", "log", "expected"),
    [
        ("OUT_OF_MEMORY", "", "memory"),
        ("FAILED", "slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch.", "memory"),
        ("FAILED", "slurmstepd: error: StepId=7.0 exceeded memory limit (9 > 8), being killed", "memory"),
        ("FAILED", "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory", "memory"),
        ("FAILED", "memory allocation of 672000000 bytes failed\nAborted (core dumped)", "memory"),
        ("FAILED", "terminate called after throwing an instance of 'std::bad_alloc'", "memory"),
        ("FAILED", "pyarrow.lib.ArrowMemoryError: malloc of size 9216 failed", "memory"),
        ("FAILED", "OpenBLAS : Memory allocation still failed after 10 retries, giving up.", "memory"),
        (
            "FAILED",
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate",
            "FAILED",
        ),
        ("FAILED", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "FAILED"),
        ("TIMEOUT", "oom-kill", "time"),
        ("DEADLINE", "", "time"),
        ("FAILED", "ValueError: NaN", "FAILED"),
        ("CANCELLED", "", "CANCELLED"),
    ],
)
def test_the_cause_is_in_the_state_or_in_the_log(state, log, expected):
    assert failure_reason.cause(state, log) == expected


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        ("memory", "ran out of memory: it had asked for 900 MB.*set-resources: {train: {mem_mb: 1800}}"),
        ("time", "ran out of time: it had asked for 10 minutes.*set-resources: {train: {runtime: 20}}"),
        ("BOOT_FAIL", "Slurm job 7 ended as BOOT_FAIL .NodeDown."),
    ],
)
def test_it_says_what_was_asked_for_and_what_to_raise(cause, expected):
    said = failure_reason.sentence("7", "train", cause, "NodeDown", {"mem_mb": 900, "runtime": 10}, "")
    assert re.search(expected, said)


def test_of_a_long_log_the_end_is_searched(tmp_path):
    log = tmp_path / "7.log"
    assert failure_reason.ended(log) == ""
    log.write_bytes(b"\xff first\n" + b"." * 2**16 + b"\nlast")
    assert failure_reason.ended(log) == "." * (2**16 - 5) + "\nlast"
    log.write_bytes(b"\xff first")
    assert failure_reason.ended(log) == "\ufffd first"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", True),
        ("Batch job submission failed: Unable to contact slurm controller (connect failure)", True),
        ("Batch job submission failed: Required partition not available (inactive or drain)", True),
        ("Job submission failed with exception: [Errno 30] Read-only file system: '.snakemake'", True),
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit", True),
        ("sbatch: error: invalid partition specified: nowhere", False),
        ("Batch job submission failed: Invalid account or account/partition combination specified", False),
        ("Batch job submission failed: Requested node configuration is not available", False),
    ],
)
def test_what_may_pass_is_tried_again(error, expected):
    assert failure_reason.passing(error) is expected


def test_what_a_silent_job_leaves_in_the_log_of_slurm_is_said():
    log = "Reason: Forced execution\nnothing is in its log: it was killed, or the disk is full\nFilesystem  Size"
    said = failure_reason.sentence("7", "train", "FAILED", "NonZeroExitCode", {}, log)
    assert said == "Slurm job 7 ended as FAILED; nothing is in its log: it was killed, or the disk is full. "


TOO_LARGE = """
import resource, sys
{imports}
now = 4096 * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (now + 300 * 10**6, now + 300 * 10**6))
{work}
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is of Linux")
@pytest.mark.parametrize(
    ("imports", "work"),
    [
        (
            "from tokenizers import pre_tokenizers; split = pre_tokenizers.ByteLevel()",
            "split.pre_tokenize_str('word ' * 10**7)",
        ),
        ("import pyarrow as pa", "pa.allocate_buffer(10**9)"),
        ("import numpy as np", "np.ones(10**9)"),
        ("import torch", "torch.ones(10**9)"),
        ("", "bytearray(10**9)"),
    ],
)
def test_what_libraries_say_without_memory_is_known(imports, work):
    """Each is the real library, under a limit."""
    code = TOO_LARGE.format(imports=imports, work=work)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert failure_reason.cause("FAILED", done.stdout + done.stderr) == "memory"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is of Linux")
def test_end_of_a_log_says_that_a_tokenizer_had_no_memory():
    """The end, of three lines, is what a job's command shows; a backtrace of 44 frames came after it."""
    prepared = (
        "from pathlib import Path; from rllc.run.environment import prepare; prepare(Path(), threads=1)\n"
    )
    split = "from tokenizers import pre_tokenizers; split = pre_tokenizers.ByteLevel()"
    code = TOO_LARGE.format(imports=prepared + split, work="split.pre_tokenize_str('word ' * 10**7)")
    code = code.replace("300 * 10**6", "900 * 10**6")  # room for the backtrace
    environment = {**os.environ, "RUST_BACKTRACE": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode != 0
    assert failure_reason.cause("FAILED", "\n".join(done.stderr.splitlines()[-3:])) == "memory"
