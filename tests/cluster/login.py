"""Checkouts on the login node of a cluster, and what one does in them."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr
import yaml
from copies import copy_project

from rllc.study import defaults

ROOT = Path(__file__).resolve().parents[2]
SNAKEMAKE = (str(Path(sys.executable).with_name("snakemake")),)
IMPATIENT = (sys.executable, str(Path(__file__).with_name("impatient.py")))
PROFILE = ("--profile", "slurm")
KEPT = {"task", "seeds", "model", "tokenizer", "initial", "training", "checkpoints"}
CI = "config/ci.yaml"
TOKEN = "hf_" + "t0ken" * 6


class Login:
    """A copy of the project and the cluster it submits to."""

    LOCAL = ("--cores", "2")  # ``how``: on the login node itself

    def __init__(self, root: Path, cluster: Any, *overlays: str):
        self.root, self.cluster, self.overlays = root, cluster, overlays

    def command(
        self,
        *arguments: str,
        how: tuple[str, ...] = PROFILE,
        overlays: tuple[str, ...] = (),
        program: tuple[str, ...] = IMPATIENT,
    ) -> list[str]:
        """Snakemake with the overlays, on the login node."""
        given = [*program, "--configfile", *self.overlays, *overlays, *how, *arguments]
        return self.cluster.command(*given, folder=self.root)

    def snakemake(self, *arguments: str, check: bool = True, seconds: float = 900, **how: Any) -> str:
        """Run Snakemake to its end; what it wrote. ``check``: it must succeed, or (False) must fail."""
        done = subprocess.run(
            self.command(*arguments, **how),
            env=environment(), capture_output=True, text=True, timeout=seconds,
        )  # fmt: skip
        said = done.stdout + done.stderr
        if (done.returncode == 0) != check:
            raise AssertionError(f"snakemake returned {done.returncode}:\n{said[-8000:]}")
        return said

    def start(self, *arguments: str, **how: Any) -> "Running":
        """Run Snakemake in the background."""
        return Running(self.command(*arguments, **how), self.root.parent / f"{time.monotonic_ns()}.log")

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace the first occurrence of a text that must be there."""
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} no longer holds {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def write(self, file: str, content: Any) -> str:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
        return file

    @staticmethod
    def wait_for(condition: Callable[[], object], seconds: float = 600, pause: float = 0.1) -> None:
        """Until something is so, looked at every ``pause`` seconds."""
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, "nothing came"
            time.sleep(pause)

    def dataset(self, name: str) -> xr.Dataset:
        """A result, read whole, without attributes (dates, fingerprints)."""
        with xr.open_dataset(self.root / name) as dataset:
            return dataset.load().drop_attrs()


class Tiny(Login):
    """The tiny study, to be broken: its files, and ways to stop its jobs half-way."""

    RLLC = "results/tiny/language/rllc.nc"
    PARTS = "results/tiny/language/parts/rllc"
    PART = f"{PARTS}/seed0.code.from20.nc"  # one job, two checkpoints: enough for most faults
    SAMPLING = "rule_sample_heads"  # how Slurm's comments on the jobs that make parts begin
    MEASURE = "    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:\n"

    def slow(self, seconds: float) -> None:
        """Every checkpoint takes so much longer; the numbers stay."""
        self._measure(f"        import time; time.sleep({seconds})\n")

    def hold(self, where: str = "step not in (0, 32)", until: str = "go") -> None:
        """Sampling waits for a file at these checkpoints; by default at all but the first of each job."""
        self._measure(
            "        import pathlib, time\n"
            f"        while {where} and not pathlib.Path({until!r}).exists():\n"
            "            time.sleep(0.1)\n"
        )

    def start_held(self, target: str) -> tuple["Running", str]:
        """A run whose sampling has kept a cell and waits for ``go``; and Slurm's number of the job."""
        self.hold()
        run = self.start(target)
        number = self.cluster.wait_for(self.SAMPLING, "RUNNING", folder=str(self.root))
        self.wait_for(self.cells)
        return run, number

    def go(self, file: str = "go") -> None:
        self.write(file, "")

    def cells(self) -> dict[Path, int]:
        """Cells that unfinished jobs have kept -> when they were written."""
        found = sorted((self.root / self.PARTS).rglob("[0-9]*.nc"))
        return {path: path.stat().st_mtime_ns for path in found}

    def check(self, undisturbed: "Tiny", name: str = RLLC) -> None:
        """The numbers are those of the undisturbed study, and no half-written file is left."""
        xr.testing.assert_identical(self.dataset(name), undisturbed.dataset(name))
        left = [path for path in (self.root / "results").rglob(".*") if path.is_file()]
        assert left == []

    @staticmethod
    def submitted(said: str, rule: str | None = None) -> list[str]:
        """Slurm's numbers of the jobs that a run submitted."""
        return re.findall(rf"SLURM jobid (\d+) \(log: .*{f'rule_{rule}/' if rule else ''}", said)

    def _measure(self, first: str) -> None:
        self.edit("src/rllc/measures/sample_heads/kernel.py", self.MEASURE, self.MEASURE + first)


class Running:
    """Snakemake at work."""

    def __init__(self, command: list[str], log: Path):
        self.log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                command, env=environment(), stdout=file, stderr=file, preexec_fn=_heed_interrupts
            )

    def end(self, *, check: bool = True, seconds: float = 900) -> str:
        """Wait for its end; what it wrote."""
        code = self.process.wait(timeout=seconds)
        said = self.said()
        if (code == 0) != check:
            raise AssertionError(f"snakemake returned {code}:\n{said[-8000:]}")
        return said

    def said(self) -> str:
        """What it wrote so far."""
        return self.log.read_text()

    def interrupt(self, *, during: str) -> None:
        """As Ctrl-C, at a moment when Snakemake runs a program of this name."""

        def at_it() -> bool:
            return during in map(_name, _descendants(self.process.pid))

        Login.wait_for(at_it, pause=0)  # it may live for some milliseconds
        _signal(_descendants(self.process.pid)[1:], signal.SIGINT)

    def signal(self, *numbers: signal.Signals) -> None:
        """Send signals to Snakemake's main process alone."""
        for number in numbers:
            _signal(_descendants(self.process.pid)[1:2], number)

    def kill(self) -> None:
        """As `kill -9`: Snakemake can clean nothing up."""
        _signal(_descendants(self.process.pid), signal.SIGKILL)
        self.process.wait(timeout=30)


def copied(source: Path, target: Path) -> Path:
    """A copy of a checkout with its results and their modification times."""
    shutil.copytree(source, target, symlinks=True)
    return target


def fresh(target: Path) -> Path:
    """A checkout without results."""
    return copy_project(target, without=["results"])


def tiny_overlay(root: Path) -> dict[str, Any]:
    """An overlay for CI's: one distribution, six checkpoints in two chunks, the rLLC and nothing else."""
    config = defaults.load([root / CI], root)
    language = config["experiments"]["language"]
    experiment: dict[str, Any] = {
        name: None for name in language if name not in {*KEPT, "distributions", "sampling", "settings"}
    }
    experiment |= {
        "distributions": ["code"],
        "training": {"distribution": "code"},
        "sampling": {"heads": {"keep_traces": False, "draws": 8}, "full": None, "other": None},
        "sampling_variants": {
            name: {"heads": None, "full": None} for name in language.get("sampling_variants", {})
        },
    }
    return {
        "results": "results/tiny",
        "distributions": {n: None for n, entry in config["distributions"].items() if entry["source"] == "model"},
        "tokenizers": {"bpe": {"corpus": "code"}},
        "experiments": {name: None for name in config["experiments"] if name != "language"} | {"language": experiment},
        "figures": dict.fromkeys(config["figures"]) | {"rllc_fig2_wrllc_by_head": {"options": {"distribution": "code"}}},
    }  # fmt: skip


def environment() -> dict[str, str]:
    """Without what pytest, an outer run of Snakemake or an outer Slurm set; with a token of the hub."""
    dropped = ("PYTEST", "PYTHONPATH", "SNAKEMAKE", "SLURM", "OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "RLLC_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "HF_TOKEN": TOKEN}


def _heed_interrupts() -> None:
    """As in a terminal: what a shell starts in the background ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _name(process: int) -> str:
    """Of its program; empty once it has ended."""
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def _signal(processes: list[int], number: signal.Signals) -> None:
    """Send a signal to those that have not ended meanwhile."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def _descendants(process: int) -> list[int]:
    """A process and all that it started, at any depth."""
    found, queue = [], [process]
    while queue:
        one = queue.pop()
        found.append(one)
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            queue += map(int, task.read_text().split())
    return found
