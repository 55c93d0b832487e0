"""Scripts of the workflow in forks of a process that has imported torch and xarray, but none of our code.

Imports take a job of a small study longer than its work. A job that starts here reads its code anew and has the working
directory, arguments, environment, umask and standard streams that it was given. It dies with the process that asked for
it. Where the environment differs in a variable that Python or a library reads at its start, the job starts as usual.

``environment`` gives the shells of jobs a function ``python`` that asks this module as a program.
"""

import atexit
import gc
import importlib
import json
import os
import re
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NoReturn

SOCKET = "FORKED_JOBS"
# What jobs import, whatever they do.
IMPORTED = (
    "arviz_stats", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "matplotlib.figure", "netCDF4",
    "pyarrow", "pydantic", "safetensors.torch", "scipy.stats", "sklearn.cluster", "tokenizers", "torch", "tqdm", "xarray",
)  # fmt: skip
SCRIPT = re.compile(r"workflow/scripts/\w+\.py")
# Variables that are read once: by Python, by the C library, by libraries of arrays and of figures.
AT_START = re.compile(
    r"(OMP|MKL|KMP|OPENBLAS|NUMEXPR|NUMBA|ATEN|DNNL|TORCH|MALLOC|LD|LC|MPL|HDF5|RUST|TOKENIZERS)_|LANG$|PYTHON(?!PATH$)"
)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with those by which shells of jobs reach the server of this process."""
    if "BASH_ENV" in given:  # of a test that watches how jobs are started
        return dict(given)
    place = _started()
    return {**given, SOCKET: f"{place}/socket", "BASH_ENV": f"{place}/shell"}


@cache
def _started() -> str:
    """Start the server of this process, which ends with it; return its folder."""
    root = Path(__file__).resolve().parents[1]
    place = tempfile.TemporaryDirectory(prefix="jobs")
    Path(place.name, "shell").write_text(f'python() {{ command python -I -S "{__file__}" "$@"; }}\n')
    # With the environment that the workflow gives its jobs.
    start = (
        "import os, sys; from pathlib import Path; from rllc.run.environment import prepare\n"
        f"prepare(Path({str(root)!r}), threads=1); del os.environ['PYTHONPATH']\n"
        f"os.execv(sys.executable, [sys.executable, {__file__!r}, '--serve', {place.name!r}])"
    )
    dropped = ("PYTEST", "SNAKEMAKE")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    variables["PYTHONPATH"] = str(root / "src")
    # The server ends when its input does: also where this process is killed.
    server = subprocess.Popen([sys.executable, "-c", start], env=variables, stdin=subprocess.PIPE)

    def end() -> None:
        server.kill()
        server.wait()
        place.cleanup()

    atexit.register(end)
    return place.name


def _ask(arguments: list[str]) -> NoReturn:
    """Have the server run a script; end as it ends. Be ``python`` where the server is not for it, or not there."""
    if arguments and SCRIPT.fullmatch(arguments[0]):
        with socket.socket(socket.AF_UNIX) as server:
            try:
                server.connect(os.environ.get(SOCKET, ""))
                answer = _answer(server, arguments)
            except OSError:
                answer = ""
        if answer:
            _end_as(int(answer))
    os.execvp("python", ["python", *arguments])


def _answer(server: socket.socket, arguments: list[str]) -> str:
    """Return the exit code of a script that the server ran; "" where it runs none."""
    os.umask(umask := os.umask(0))
    asked = json.dumps([arguments, str(Path.cwd()), dict(os.environ), umask]).encode()
    socket.send_fds(server, [len(asked).to_bytes(8, "little")], [0, 1, 2])
    server.sendall(asked)
    return server.recv(16).decode()


def _end_as(code: int) -> NoReturn:
    """End with an exit code, or by the signal that a negative one names."""
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _serve(place: str) -> None:
    """Answer every call with the exit code of its script; with nothing where it has to start as usual."""
    own = {name: value for name, value in os.environ.items() if AT_START.match(name)}
    for package in IMPORTED:
        importlib.import_module(package)
    gc.collect()
    gc.freeze()  # else each fork would copy what it collects
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks that serve one call each
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(f"{place}/new")
        here.listen(64)
        Path(place, "new").rename(Path(place, "socket"))
        while True:
            ready, _, _ = select.select([here, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            caller, _ = here.accept()
            if not os.fork():
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                here.close()
                _serve_one(caller, own)
            caller.close()


def _serve_one(caller: socket.socket, own: Mapping[str, str]) -> None:
    """Run the script of one call in a fork, and tell its exit code; kill it where the caller is gone."""
    head, streams, _, _ = socket.recv_fds(caller, 8, 3)
    length, text = int.from_bytes(head, "little"), b""
    while len(text) < length:
        text += caller.recv(length - len(text))
    arguments, folder, variables, umask = json.loads(text)
    if {name: value for name, value in variables.items() if AT_START.match(name)} != own:
        os._exit(0)  # the caller hears nothing
    job = os.fork()
    if not job:
        caller.close()
        _end(lambda: _be(arguments, folder, variables, umask, streams))
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(job)
    ready, _, _ = select.select([caller, ended], [], [])
    if ended not in ready:
        os.kill(job, signal.SIGKILL)
        os._exit(0)
    _, status = os.waitpid(job, 0)
    caller.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _end(program: Callable[[], None]) -> NoReturn:
    """Run a program and end as an interpreter does, but for taking down what was imported, which takes a second."""
    code: object = 0
    try:
        program()
    except SystemExit as ended:
        code = ended.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:  # as the interpreter says it
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    assert isinstance(code, int)
    os._exit(code)


def _be(arguments: list[str], folder: str, variables: dict[str, str], umask: int, streams: list[int]) -> None:
    """Be ``python <arguments>``."""
    os.setsid()
    os.umask(umask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update({name: value for name, value in variables.items() if name not in (SOCKET, "BASH_ENV")})
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    paths = variables.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [str(Path(arguments[0]).parent.resolve()), *filter(None, paths)]
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        _serve(sys.argv[2])
    else:
        _ask(sys.argv[1:])
