"""`snakemake validation` plans its own jobs and none of the experiments', and `all` none of the validation's."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("deep_linear", "potentials", "quadratic", "reduced_rank")


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Jobs of a target in a checkout without results."""
    root = tmp_path_factory.mktemp("plan") / "rllc"
    root.mkdir()
    for name in ("Snakefile", "workflow", "config", "src", "envs", "pyproject.toml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, root / name)

    def plan(*targets):
        script = ROOT / "tests/workflow/plan_of.py"
        done = subprocess.run(
            [sys.executable, str(script), "config/ci.yaml", *targets],
            cwd=root, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if line.startswith("PLAN ")]
        assert lines, done.stdout[-2000:] + done.stderr[-2000:]
        return json.loads(lines[0].removeprefix("PLAN "))

    return plan


def test_the_target_plans_its_jobs_and_no_others(planned):
    jobs = planned("validation")
    expected = [["draw", {"figure": f"validation_{family}"}] for family in FAMILIES]
    expected += [["validate", {"family": family}] for family in FAMILIES]
    assert [job for job in jobs if job[0] != "validation"] == expected


def test_the_default_target_leaves_it_out(planned):
    jobs = planned()
    assert len(jobs) > 20
    assert not [job for job in jobs if "validat" in json.dumps(job)]
