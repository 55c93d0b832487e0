"""Environment and config of all tests."""

import copy
import os
from pathlib import Path

# One thread, as every job has: results depend on it, and waiting threads of a shared machine cost most.
for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR"):
    os.environ.setdefault(f"{name}_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # compiling tslearn's loops takes half a minute

import pytest  # noqa: E402
from copies import pytest_sessionfinish  # noqa: E402, F401  (a hook)
from hypothesis import settings  # noqa: E402

from rllc.study import defaults  # noqa: E402

settings.register_profile("untimed", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def _default():
    return defaults.load(root=ROOT)


@pytest.fixture
def config(_default):
    """The default config, to be changed."""
    return copy.deepcopy(_default)


@pytest.fixture
def chunked(config):
    """The same with the language model's checkpoints in two chunks, from 0 and from 1250."""
    config["experiments"]["language"]["checkpoints"]["chunks"] = [0, 1250]
    return config
