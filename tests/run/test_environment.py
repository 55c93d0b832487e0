"""What a job inherits: nothing that a user's shell or a container sets for other programs changes it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
JOB = """
import os, subprocess, sys
from pathlib import Path
from rllc.run.environment import prepare
prepare(Path(sys.argv[1]), threads=int(sys.argv[2]))
sys.exit(subprocess.run(["python", "-c", sys.argv[3]]).returncode)
"""
SUMS = """
import hashlib, os, torch
torch.manual_seed(0)
total = torch.randn(10**7).sum() # of as many pieces as there are threads
print(len(os.sched_getaffinity(0)), hashlib.sha256(total.numpy().tobytes()).hexdigest())
"""
SETTINGS = ("OMP_", "GOMP_", "KMP_", "MKL_", "HDF5_", "MPL", "MATPLOTLIB", "HF_", "XDG_")


def job(code: str, *, threads: int = 1, before: tuple[str, ...] = (), **variables: str) -> str:
    """What a job prints where the shell that started the run had these variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    done = subprocess.run(
        [*before, sys.executable, "-c", JOB, str(ROOT), str(threads), code], capture_output=True, text=True,
        env=own | {"PYTHONPATH": str(ROOT / "src")} | variables, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def undisturbed():
    if CORES < 2:
        pytest.skip("threads and places can differ only where there are two cores")
    return job(SUMS, threads=2)


@pytest.mark.parametrize(
    "variable",
    [
        {"OMP_PROC_BIND": "true"},
        {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"},
        {"OMP_PLACES": "{0}"},
        {"GOMP_CPU_AFFINITY": "0"},
        # Fewer threads than the config says: sums are taken in other pieces.
        {"OMP_DYNAMIC": "true"},
        {"OMP_THREAD_LIMIT": "1"},
        {"OMP_MAX_ACTIVE_LEVELS": "0"},
    ],
    ids=lambda variable: " ".join(f"{name}={value}" for name, value in variable.items()),
)
def test_threads_of_job_are_where_and_as_many_as_undisturbed(undisturbed, variable):
    assert job(SUMS, threads=2, **variable) == undisturbed


def test_threads_that_user_asks_for_are_not_those_of_job():
    code = "import torch; print(torch.get_num_threads())"
    asked = {f"{name}_NUM_THREADS": "2" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}
    assert job(code, **asked) == "1"


def test_processor_that_user_asks_for_is_that_of_job():
    """It is how numbers of one machine are had on another."""
    code = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    assert job(code, ATEN_CPU_CAPABILITY="default") in ("DEFAULT", "NO AVX")


def test_docstrings_of_job_are_there_whatever_python_is_told():
    """The reasons why a statistic is undefined are read from them."""
    assert job("import json; print(json.dumps.__doc__ is None)", PYTHONOPTIMIZE="2") == "False"


def test_figures_of_job_need_no_screen():
    code = "import matplotlib.pyplot as plt; plt.figure(); print(plt.get_backend().lower())"
    assert job(code, MPLBACKEND="module://no_such_module") == "agg"


CACHES = """
from huggingface_hub.constants import HF_HOME
import matplotlib, os
print(matplotlib.get_cachedir(), matplotlib.get_configdir(), HF_HOME, sep="\\n")
"""


def as_others() -> tuple[str, ...]:
    """What takes from root the right to write everywhere, before a command."""
    if os.geteuid():
        return ()
    if not shutil.which("setpriv"):
        pytest.skip("root writes everywhere, and there is no setpriv (of util-linux)")
    return ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")


@pytest.fixture(params=["a file", "closed", "under a closed one"])
def home(request, tmp_path):
    """A home that cannot be written to."""
    folder = tmp_path / "home"
    if request.param == "a file":
        folder.touch()
        yield folder
        return
    folder.mkdir(mode=0o555)
    yield folder / "me" if request.param == "under a closed one" else folder
    folder.chmod(0o755)


def test_caches_of_job_are_with_the_run_where_home_cannot_be_written(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in job(CACHES, before=as_others(), HOME=str(home)).splitlines():
        assert Path(folder).is_relative_to(tmp_path / ".snakemake")


def test_caches_of_job_are_the_users_where_home_can_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    for folder in job(CACHES, HOME=str(home)).splitlines():
        assert Path(folder).is_relative_to(home)
    assert not (tmp_path / ".snakemake").exists()


def test_caches_of_job_are_where_the_user_says(tmp_path):
    said = {name: str(tmp_path / name) for name in ("MPLCONFIGDIR", "HF_HOME")}
    folders = job(CACHES, HOME="/dev/null", **said).splitlines()
    assert folders == [said["MPLCONFIGDIR"], said["MPLCONFIGDIR"], said["HF_HOME"]]


def test_cache_of_the_hub_that_can_only_be_read_stays_in_use(tmp_path):
    """A home that compute nodes cannot write to may hold what was downloaded elsewhere."""
    for folder in (hub := tmp_path / "home/.cache/huggingface"), hub.parent, hub.parent.parent:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o555)
    assert job(CACHES, before=as_others(), HOME=str(tmp_path / "home")).splitlines()[2] == str(hub)
    for folder in hub.parent.parent, hub.parent, hub:
        folder.chmod(0o755)


def test_caches_of_job_are_with_the_run_where_user_has_no_home(tmp_path, monkeypatch):
    """As in a container that runs as a number."""
    if os.geteuid():
        pytest.skip("only root can become a user without a name")
    code = """
import os, sys
from pathlib import Path
from rllc.run.environment import prepare
os.setuid(123456)
del os.environ["HOME"]
prepare(Path(sys.argv[1]), threads=1)
print(os.environ["MPLCONFIGDIR"])
"""
    monkeypatch.chdir(tmp_path)
    own = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)], env=own | {"HOME": "/", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert Path(done.stdout.strip()).is_relative_to(tmp_path / ".snakemake"), done.stderr
