"""The environment that `make env` builds."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", ["snakemake.workflow", "pandas", "torch", "xarray"])
def test_packages_are_compiled(name):
    """Else every job compiles them anew, where PYTHONDONTWRITEBYTECODE is set."""
    assert Path(find_spec(name).cached).is_file()


def make(folder, *arguments, **variables):
    done = subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_make_drops_packages_of_another_python():
    """Clusters' modules set PYTHONPATH; Snakemake then fails at its first import."""
    show = ["--eval", 'show: ; @echo "[$$PYTHONPATH$$PYTHONHOME]"', "show"]
    said = make(ROOT, *show, PYTHONPATH="/elsewhere", PYTHONHOME="/elsewhere")
    assert "[]" in said.splitlines()


@pytest.mark.parametrize("links", [True, False])
def test_make_env_says_how_to_name_the_profile_where_links_are_files(tmp_path, links):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "profiles/slurm").mkdir(parents=True)
    if links:
        (tmp_path / "slurm").symlink_to("profiles/slurm")
    else:
        (tmp_path / "slurm").write_text("profiles/slurm")
    said = make(tmp_path, "--old-file=.venv/.ready", "env")
    assert ("--profile profiles/slurm" in said) != links
