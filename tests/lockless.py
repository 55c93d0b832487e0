"""A file system without locks: programs in which every request for a lock fails, as on some NFS and Lustre."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>

static int call(const char *name, int file, int command, void *argument) {
  if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW) {
    errno = atoi(getenv("LOCK_ERRNO"));
    return -1;
  }
  int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
  return real(file, command, argument);
}

int flock(int file, int operation) { return call("", file, F_SETLK, 0); }

int fcntl(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  return call("fcntl", file, command, argument);
}

int fcntl64(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  return call("fcntl64", file, command, argument);
}
"""


def variables(number: int) -> dict[str, str]:
    """The environment in which locks fail with an error number; skips where no such thing can be made."""
    own = {name: value for name, value in os.environ.items() if name != "HDF5_USE_FILE_LOCKING"}
    library = str(Path(_built().name) / "lockless.so")
    return own | {"PYTHONPATH": str(ROOT / "src"), "LD_PRELOAD": library, "LOCK_ERRNO": str(number)}


@cache
def _built() -> TemporaryDirectory:
    """The folder of the library, which goes when the tests end."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("locks are made to fail by a library that gcc compiles, on Linux")
    folder = TemporaryDirectory(prefix="lockless")
    (Path(folder.name) / "lockless.c").write_text(SOURCE, encoding="utf-8")
    command = [compiler, "-shared", "-fPIC", "-o", "lockless.so", "lockless.c", "-ldl"]
    subprocess.run(command, cwd=folder.name, check=True)
    return folder
