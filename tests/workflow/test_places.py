"""Runs where the machine, the shell and the folder are not those of the authors: the numbers are the same."""

import errno
import os
import shutil
import subprocess
import sys

import lockless
import pytest

MADE = ("validation/quadratic.nc", "figures/validation_quadratic.png", "figures/validation_quadratic.pdf")
TARGETS = ("--", "results/ci/validation/quadratic.nc", "results/ci/figures/validation_quadratic.png")
MATPLOTLIBRC = "axes.facecolor: black\nsavefig.transparent: True\nfont.size: 20\n"


def snakemake(root, *arguments, before=(), **variables):
    """Snakemake as one calls it by hand, in a checkout."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "PYTHON"))}
    return subprocess.run(
        [*before, sys.executable, "-m", "snakemake", "--cores", "2", "--configfile=config/ci.yaml", *arguments],
        cwd=root, env=own | variables, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def made(root):
    return {name: (root / "results/ci" / name).read_bytes() for name in MADE}


@pytest.fixture
def without_home(tmp_path):
    """A home that nobody may write to, not even root, and what a command is called with."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root writes everywhere, and there is no setpriv (of util-linux)")
    folder = tmp_path / "home"
    folder.mkdir(mode=0o555)
    before = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")
    variables = {"HOME": str(folder), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""}
    yield {"before": () if os.geteuid() else before, **variables}
    folder.chmod(0o755)


def test_run_in_a_hostile_place_makes_what_a_plain_one_makes(fresh, tmp_path, without_home):
    """No locks, no home, bound threads, somebody's matplotlibrc, and braces and a quote in the path."""
    plain = fresh().root
    done = snakemake(plain, *TARGETS)
    assert done.returncode == 0, done.stderr[-6000:]
    odd = shutil.move(fresh().root, tmp_path / "{family} {x} it's")
    (tmp_path / "matplotlibrc").write_text(MATPLOTLIBRC)
    hostile = lockless.variables(errno.ENOLCK)
    hostile |= {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores", "GOMP_CPU_AFFINITY": "0"}
    hostile |= {"OMP_DYNAMIC": "true", "PYTHONOPTIMIZE": "2", "MATPLOTLIBRC": str(tmp_path)}
    done = snakemake(odd, *TARGETS, **{**hostile, **without_home})
    assert done.returncode == 0, done.stderr[-6000:]
    assert made(odd) == made(plain)
    assert not list((tmp_path / "home").iterdir())


def test_status_without_a_home_is_reported(fresh, without_home):
    root = fresh().root
    before, variables = without_home["before"], {n: v for n, v in without_home.items() if n != "before"}
    done = subprocess.run(
        [*before, sys.executable, "workflow/status.py", "config/ci.yaml"], cwd=root,
        env=os.environ | variables, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-6000:]
    assert "sample_heads" in done.stdout


@pytest.mark.parametrize("results", ["link", "link/deep"])
@pytest.mark.parametrize("dry", [("-n",), ()])
def test_run_whose_results_are_behind_a_dangling_link_plans_nothing(fresh, results, dry):
    root = fresh().root
    (root / "link").symlink_to("/mnt/nowhere")
    done = snakemake(root, *dry, "--config", f"results={results}", "--", f"{results}/validation/quadratic.nc")
    said = done.stdout + done.stderr  # a dry run speaks on the first
    assert done.returncode
    assert "link is a link to /mnt/nowhere" in said
    assert "Traceback" not in said and "to run: " not in said


@pytest.mark.parametrize("how", ["from elsewhere", "--directory"])
def test_run_in_another_folder_than_its_own_is_refused_with_both(fresh, tmp_path, how):
    root = fresh().root
    overlay, snakefile = root / "config/ci.yaml", ("--snakefile", str(root / "Snakefile"))
    (tmp_path / "config").mkdir()
    shutil.copy(overlay, tmp_path / "config")
    where = tmp_path if how == "from elsewhere" else root
    more = () if how == "from elsewhere" else ("--directory", str(tmp_path))
    done = snakemake(where, *snakefile, *more, *TARGETS)
    assert done.returncode
    assert f"{tmp_path}:" in done.stderr and f"cd {root}" in done.stderr


def test_run_through_a_link_to_its_folder_is_planned(fresh, tmp_path):
    (tmp_path / "link").symlink_to(fresh().root)
    assert snakemake(tmp_path / "link", "-n", *TARGETS).returncode == 0
