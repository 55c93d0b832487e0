import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from copies import copy_project

from rllc.job import stage
from rllc.run import causes
from rllc.run.fingerprint import fingerprint
from rllc.run.long_settings import LongSettings
from rllc.seeds import derive

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = '''
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from rllc.job.stage import run

@dataclass(frozen=True)
class Place:
    folder: Path
    teacher: Path | None
    code: str

def main(place: Place, settings: dict, parts: list[Path], seed: int, stream: Callable) -> None:
    """What it does."""
    if settings.get("fail") == "on a GPU":
        import torch
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 45 GiB.\\nframe #0: c10")
    if settings.get("fail") == "memory":
        bytearray(2**62)
    if settings.get("fail"):
        raise ValueError("this is wrong: do that")
    print(repr([place.folder, place.teacher, len(place.code), settings, parts, seed, stream(1)]))

if __name__ == "__main__":
    run(main)
'''


@pytest.fixture
def script(tmp_path):
    copy_project(tmp_path, only=["src"])
    for folder in ("workflow/scripts", "envs"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "envs/requirements.lock").write_text("numpy==1\n")
    (tmp_path / "workflow/scripts/s.py").write_text(SCRIPT)

    def call(*flags):
        return subprocess.run(
            [sys.executable, "workflow/scripts/s.py", *flags],
            cwd=tmp_path, env={"PYTHONPATH": "src", "PATH": ""}, capture_output=True, text=True,
        )  # fmt: skip

    call.root = tmp_path
    return call


def flags(**settings):
    return [
        "--folder", "a b;c'd", "--teacher", "--settings", json.dumps(settings), "--parts", "x", "y z", "--seed", "3",
        "--stream", "rllc.seeds:derive",
    ]  # fmt: skip


def test_flags_are_read_by_their_annotations(script):
    done = script(*flags(n=1.5))
    assert done.returncode == 0, done.stderr
    expected = [Path("a b;c'd"), None, 16, {"n": 1.5}, [Path("x"), Path("y z")], 3, derive(1)]
    assert done.stdout.splitlines()[0] == repr(expected)


def test_long_flags_are_read_from_the_files_that_the_workflow_wrote(script, monkeypatch):
    monkeypatch.chdir(script.root)
    settings, parts = {"long": "x" * 10_000}, [f"part {number}" for number in range(1000)]
    long = LongSettings(writes=True)
    given = flags()
    given[given.index("--settings") + 1] = long.flag(json.dumps(settings))
    given[given.index("--parts") + 1 : given.index("--seed")] = long.files(parts)
    done = script(*given)
    assert done.returncode == 0, done.stderr
    expected = [Path("a b;c'd"), None, 16, settings, list(map(Path, parts)), 3, derive(1)]
    assert done.stdout.splitlines()[0] == repr(expected)


def test_errors_are_one_line_with_what_to_do(script):
    done = script(*flags(fail=1))
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == "s.py: ValueError: this is wrong: do that"
    assert "Traceback" not in done.stderr


def test_lack_of_memory_is_one_line_that_a_cluster_is_known_by(script):
    done = script(*flags(fail="memory"))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "s.py: MemoryError" in done.stderr.splitlines()[-1]
    assert causes.cause("FAILED", done.stderr) == "memory"


def test_what_a_gpu_says_is_one_line_with_what_to_do(script):
    done = script(*flags(fail="on a GPU"))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("s.py: OutOfMemoryError: CUDA out of memory. Tried to allocate 45 GiB. Ask for")
    assert "lower batch_size" in last


def test_a_gpu_that_fails_without_a_word_is_said_to_fail():
    assert "The GPU failed" in stage._on_a_gpu(RuntimeError())


@pytest.mark.parametrize("edited", ["run/fingerprint.py", "seeds.py"])
def test_a_job_refuses_to_run_other_code_than_it_was_planned_with(script, edited):
    """Nor other code of a function that a flag names."""
    planned = fingerprint("workflow/scripts/s.py", "rllc.seeds", root=script.root)
    assert script("--code", planned, *flags()).returncode == 0
    path = script.root / "src/rllc" / edited
    path.write_text(path.read_text() + "\nX = 1\n")
    done = script("--code", planned, *flags())
    assert done.returncode != 0
    assert f"planned with {planned}" in done.stderr
    assert "Run snakemake again" in done.stderr


def test_help_says_what_the_script_does(script):
    assert "What it does." in script("--help").stdout


@pytest.mark.parametrize("path", sorted((ROOT / "workflow/scripts").glob("*.py")), ids=lambda path: path.stem)
def test_every_script_has_help(path, monkeypatch, capsys):
    """Read in this process: imports then take seconds once, not for every script."""
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0
    assert "--code" in capsys.readouterr().out
