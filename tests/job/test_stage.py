import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from copies import copy_project

from rllc.job import stage
from rllc.job_settings.file import as_text
from rllc.job_settings.functions import NamedFunction
from rllc.run.fingerprint import fingerprint
from rllc.seeds import derive
from rllc.slurm import failure_reason

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = '''
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from rllc.job.stage import run
from rllc.job_settings.functions import NamedFunction

@dataclass(frozen=True)
class Settings:
    stream: NamedFunction
    keywords: dict[str, Any]

@dataclass(frozen=True)
class Place:
    folder: Path
    teacher: Path | None
    code: str

def main(settings: Settings, place: Place, parts: list[Path], seed: int, distribution: str | None) -> None:
    """What it does."""
    fail = settings.keywords.get("fail")
    if fail == "on a GPU":
        import torch
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 45 GiB.\\nframe #0: c10")
    if fail == "memory":
        bytearray(2**62)
    if fail:
        raise ValueError("this is wrong: do that")
    made = settings.stream.load()(1)
    print(repr([place.folder, place.teacher, len(place.code), settings.keywords, parts, seed, distribution, made]))

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


@dataclass(frozen=True)
class Settings:
    stream: NamedFunction
    keywords: dict[str, Any]


@pytest.fixture
def flags(tmp_path):
    def given(*more, **keywords):
        told = tmp_path / "settings.json"
        told.write_text(as_text(Settings(NamedFunction("rllc.seeds:derive"), keywords)))
        places = ["--folder", "a b;c'd", "--teacher", "--parts", "x", "y z", "--seed", "3"]
        return ["--settings", str(told), *places, *more]

    return given


def test_flags_are_read_by_their_annotations_and_settings_from_their_file(script, flags):
    """A flag that may be empty may be left out."""
    for more, distribution in (
        ([], None),
        (["--distribution", ""], None),
        (["--distribution", "code"], "code"),
    ):
        done = script(*flags(*more, n=1.5))
        assert done.returncode == 0, done.stderr
        expected = [
            Path("a b;c'd"),
            None,
            16,
            {"n": 1.5},
            [Path("x"), Path("y z")],
            3,
            distribution,
            derive(1),
        ]
        assert done.stdout.splitlines()[0] == repr(expected)


@pytest.mark.parametrize("text", ['{"stream": "rllc.seeds:derive"}', '{"stream": "rll'])
def test_settings_that_are_not_those_of_the_script_are_refused_in_words(script, flags, text):
    given = flags()
    Path(given[1]).write_text(text)
    done = script(*given)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "settings.json holds no Settings" in done.stderr and "Run snakemake again" in done.stderr


def test_errors_are_one_line_with_what_to_do(script, flags):
    done = script(*flags(fail=1))
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == "s.py: ValueError: this is wrong: do that"
    assert "Traceback" not in done.stderr


def test_lack_of_memory_is_one_line_that_a_cluster_is_known_by(script, flags):
    done = script(*flags(fail="memory"))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "s.py: MemoryError" in done.stderr.splitlines()[-1]
    assert failure_reason.cause("FAILED", done.stderr) == "memory"


def test_what_a_gpu_says_is_one_line_with_what_to_do(script, flags):
    done = script(*flags(fail="on a GPU"))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("s.py: OutOfMemoryError: CUDA out of memory. Tried to allocate 45 GiB. Ask for")
    assert "lower batch_size" in last


def test_a_gpu_that_fails_without_a_word_is_said_to_fail():
    assert "The GPU failed" in stage._on_a_gpu(RuntimeError())


@pytest.mark.parametrize("edited", ["run/fingerprint.py", "seeds.py"])
def test_a_job_refuses_to_run_other_code_than_it_was_planned_with(script, flags, edited):
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
