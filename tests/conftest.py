"""One thread, as every job has: results depend on it, and waiting threads of a shared machine cost most."""

import os

for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR"):
    os.environ.setdefault(f"{name}_NUM_THREADS", "1")

from hypothesis import settings  # noqa: E402

settings.register_profile("untimed", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("untimed")
