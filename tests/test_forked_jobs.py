"""A script that is started by a fork is what it is where Python starts it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import forked_jobs
import pytest

SCRIPT = """
import json, os, signal, sys
from pathlib import Path
import rllc
print(json.dumps([sys.argv, str(Path.cwd()), os.environ["MINE"], __name__, rllc.__file__, "torch" in sys.modules]))
print("beside", file=sys.stderr)
match sys.argv[1]:
    case "fail": sys.exit("a reason")
    case "code": sys.exit(3)
    case "raise": raise ValueError("a fault")
    case "kill": os.kill(os.getpid(), signal.SIGKILL)
    case "wait":
        Path("pid").write_text(str(os.getpid()))
        signal.pause()
"""
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def variables():
    """What a shell of a job has, with a server that is ready."""
    given = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHONPATH"))
    }
    code = (
        f"import json, os; from pathlib import Path; from rllc.run.environment import prepare; prepare(Path({str(ROOT)!r}), "
        "threads=1); print(json.dumps(dict(os.environ)))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    found = forked_jobs.environment({**json.loads(done.stdout), "MINE": "a value"})
    while not Path(found[forked_jobs.SOCKET]).is_socket():
        time.sleep(0.05)
    return found


@pytest.fixture
def folder(tmp_path):
    script = tmp_path / "workflow/scripts/say.py"
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT)
    return tmp_path


@pytest.fixture
def run(folder, variables):
    def call(argument, **more):
        shell = ["bash", "-c", f"python workflow/scripts/say.py {argument}; code=$?; echo; exit $code"]
        return subprocess.run(shell, cwd=folder, env={**variables, **more}, capture_output=True, text=True)

    return call


@pytest.mark.parametrize(
    ("argument", "code", "last"),
    [
        ("fine", 0, "beside"),
        ("fail", 1, "a reason"),
        ("code", 3, "beside"),
        ("raise", 1, "ValueError: a fault"),
    ],
)
def test_forked_script_says_and_ends_as_a_started_one(run, argument, code, last):
    forked, started = run(argument), run(argument, **{forked_jobs.SOCKET: ""})
    for done in (forked, started):
        assert done.returncode == code and done.stderr.splitlines()[-1] == last
    assert '["workflow/scripts/say.py"' in forked.stdout and '"a value", "__main__"' in forked.stdout
    assert forked.stdout == started.stdout.replace("false]", "true]"), "but for torch, which is there"


def test_script_with_other_variables_that_are_read_at_the_start_is_started(run):
    assert run("fine", OMP_NUM_THREADS="2").stdout.rstrip().endswith("false]")


def test_killed_script_kills_who_asked_for_it(run):
    assert run("kill").returncode == 137


def test_script_dies_with_who_asked_for_it(folder, variables):
    asking = subprocess.Popen(
        [sys.executable, "-I", "-S", forked_jobs.__file__, "workflow/scripts/say.py", "wait"],
        cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    note = folder / "pid"
    while not note.exists() or not note.read_text():
        time.sleep(0.02)
    job = int(note.read_text())
    asking.kill()
    asking.wait()
    for _ in range(500):
        if not Path(f"/proc/{job}").exists():
            return
        time.sleep(0.02)
    pytest.fail(f"process {job} lives on")
