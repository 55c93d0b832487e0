"""The environment variables of every job, set once while the workflow is parsed."""

import os
import re
import sys
from pathlib import Path

from rllc.run.plan import FOLDER
from rllc.run.writable import closed

SECRET = r"(TOKEN|SECRET|PASSWORD|API_KEY|ACCESS_KEY)$"
# Variables that would change results or speed. Bound threads share one core with those of all other jobs.
# Fewer threads than the config says change the order of sums. PYTHONOPTIMIZE drops assertions and docstrings.
# NVIDIA's and torch's switches override the config's `precision`. Not listed: ATEN_CPU_CAPABILITY and
# MKL_CBWR, which choose a processor's instructions. A user sets those on purpose.
DROPPED = re.compile(
    r"(OMP|GOMP|KMP)_|MKL_(DYNAMIC|DOMAIN_NUM_THREADS)$|PYTHON(OPTIMIZE|INSPECT)$"
    r"|NVIDIA_TF32_OVERRIDE$|TORCH_ALLOW_TF32_CUBLAS_OVERRIDE$"
)


def prepare(root: Path, *, threads: int) -> None:
    """Give jobs this environment's Python, this checkout's package, and a fixed number of threads.

    Results depend on the number of threads, so the config sets it and ``--cores`` does not. Large temporaries
    stay with the allocator instead of going back to the system after every draw. This saves 8 to 20 % of a
    training's CPU time.
    """
    path = os.environ.get("PATH", "")
    first = str(Path(sys.executable).parent)
    variables = {
        "PATH": path if path.split(os.pathsep)[0] == first else f"{first}{os.pathsep}{path}",
        "PYTHONPATH": str(root / "src"),
        "TOKENIZERS_PARALLELISM": "false",
        "RUST_BACKTRACE": "0",  # of a tokenizer out of memory: its first line should end the log
        "NUMBA_DISABLE_JIT": "1",  # clustering a few dozen curves takes less time than compiling its loops
        "MALLOC_MMAP_THRESHOLD_": str(2**25),
        "MALLOC_TRIM_THRESHOLD_": str(10**9),
        "HDF5_USE_FILE_LOCKING": "FALSE",  # some shared file systems lack locks; no file has two writers
        "MPLBACKEND": "agg",
        "OMP_PROC_BIND": "false",
    }
    variables |= {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}
    for name in [name for name in os.environ if DROPPED.match(name)]:
        del os.environ[name]
    os.environ.update(variables | _caches(Path.cwd() / FOLDER))


def _caches(folder: Path) -> dict[str, str]:
    """Return cache folders (variable -> path) for libraries when the home folder is read-only.

    An existing cache of the hub can be read and stays in use. Variables that the user set stay too.
    """
    try:
        home = Path.home()
    except RuntimeError:  # a user without name or HOME, in a container
        home = Path(os.devnull)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    unusable = {
        "MPLCONFIGDIR": closed([cache / "matplotlib/file", settings / "matplotlib/file"]) is not None,
        "HF_HOME": not (cache / "huggingface").exists() and closed([cache / "huggingface/file"]) is not None,
    }
    return {
        name: str(folder / "caches" / name.lower())
        for name, so in unusable.items()
        if so and name not in os.environ
    }


def forget_secrets() -> None:
    """Drop tokens and passwords from the environment of a job: only local rules reach the hub.

    The Slurm plugin writes a job's whole environment into its log where Snakemake is verbose.
    """
    for name in [name for name in os.environ if re.search(SECRET, name)]:
        del os.environ[name]
