"""Snakemake, or a plan of it, in a fork of a process that has imported it: without the second that its import takes.

A run shares nothing with others but what was imported before. It has a working directory, an environment, arguments
and standard streams of its own, as ``python -m snakemake`` has.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

TIMEOUT = 900  # seconds


def snakemake(
    *arguments: str, folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m snakemake`` with these arguments in a folder; return its code and all that it wrote.

    environment  its variables; None: those of this process
    """
    return _called("snakemake", arguments, folder, environment)


def plan(
    folder: Path, overlays: Sequence[str], targets: Sequence[str], environment: Mapping[str, str]
) -> list[tuple[str, dict[str, str]]]:
    """Return the jobs that a run in a checkout would start: rule and wildcards, in order."""
    done = _called("plan", [json.dumps([overlays, targets])], folder, environment)
    found = [line for line in done.stdout.splitlines() if line.startswith("PLAN ")]
    if not found:
        raise AssertionError(f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    return [(rule, wildcards) for rule, wildcards in json.loads(found[0].removeprefix("PLAN "))]


def _called(
    program: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    """Have the server run a program in a fork."""
    with tempfile.TemporaryDirectory() as place:
        streams = [f"{place}/{name}" for name in ("stdout", "stderr")]
        asked = [
            program,
            list(arguments),
            str(folder),
            dict(os.environ if environment is None else environment),
            streams,
        ]
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        print(json.dumps(asked), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        written = (Path(stream).read_text(encoding="utf-8", errors="replace") for stream in streams)
        return subprocess.CompletedProcess([program, *arguments], code, *written)


def _server() -> subprocess.Popen[str]:
    """Return the server of this process; another one where a test of signals has ended it with all children."""
    if _started().poll() is not None:
        _started.cache_clear()
    return _started()


@cache
def _started() -> subprocess.Popen[str]:
    """Start a server. It ends with this process, which closes its input."""
    server = subprocess.Popen(
        [sys.executable, __file__], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    atexit.register(server.kill)
    return server


def _run(
    program: str, arguments: list[str], folder: str, environment: dict[str, str], streams: list[str]
) -> None:
    """Be ``python -m snakemake``, or print a plan, in a fork. Raises SystemExit as the former does."""
    from snakemake import cli

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in enumerate(streams, start=1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path[0] = folder
    sys.path[1:1] = environment.get("PYTHONPATH", "").split(os.pathsep) if "PYTHONPATH" in environment else []
    sys.argv = [str(Path(cli.__file__).with_name("__main__.py"))]
    signal.alarm(TIMEOUT)
    if program == "snakemake":
        sys.argv += arguments
        cli.main(arguments)
        return
    sys.path.insert(0, str(Path("src").resolve()))
    from rllc.run.dag import dag

    with dag(*json.loads(arguments[0])) as planned:
        jobs = planned.needrun_jobs(exclude_finished=False)
        found = sorted(((job.rule.name, dict(job.wildcards_dict)) for job in jobs), key=str)
    print("PLAN " + json.dumps(found), flush=True)


def _serve() -> None:
    """Answer each line of standard input, a run as JSON, with its exit code."""
    # All that a run imports whatever its Snakefile says, and what ours imports of others.
    import numpy
    import pandas
    import pydantic
    import snakemake.cli
    import snakemake.scheduling.job_scheduler
    import snakemake.workflow
    import snakemake_executor_plugin_slurm
    import yaml

    assert numpy and pandas and pydantic and snakemake and snakemake_executor_plugin_slurm and yaml
    for line in sys.stdin:
        if not (child := os.fork()):
            _run(*json.loads(line))
            return  # to the end of the interpreter, as any program
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
