"""Options of Snakemake's command line that are given twice."""

import subprocess
import sys
from pathlib import Path

import pytest

from rllc.run.options import options

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("arguments", "option", "advice"),
    [
        ("--configfile=a.yaml --configfile=b.yaml", "--configfile", "--configfile a.yaml b.yaml"),
        ("--configfile a.yaml -n --configfile b.yaml c.yaml", "--configfile", "--configfile a.yaml b.yaml c.yaml"),
        ("--configfiles a.yaml --configfile=b.yaml", "--configfile", "--configfile a.yaml b.yaml"),
        ("--config seed=1 --config results=x", "--config", "--config seed=1 results=x"),
        ("-C seed=1 -n --config results=x", "--config", "--config seed=1 results=x"),
        ("-nCseed=1 -C results=x", "--config", "--config seed=1 results=x"),
        ("--set-threads train=1 --set-threads draw=2", "--set-threads", ""),
        ("--set-threads train=1 --set-thr draw=2", "--set-threads", ""),
        ("-R train --forcerun draw", "--forcerun", ""),
        ("--quiet rules --quiet progress", "--quiet", ""),
    ],
)  # fmt: skip
def test_a_list_that_is_given_twice_is_a_problem(arguments, option, advice):
    (problem,) = options(["snakemake", "--cores", "2", *arguments.split()]).repeated
    assert f"`{option}`" in problem
    assert advice in problem


@pytest.mark.parametrize(
    "arguments",
    [
        "--configfile a.yaml b.yaml -- target",
        "--configfile=a.yaml --config seed=1 target",
        "-n --cores 2 --cores 3 -n",
        "--profile a --profile b",
        "--configfile a.yaml -- --configfile --configfile",
        "--configfile a.yaml --until a -R b",
        "",
    ],
)
def test_what_is_given_once_or_may_be_repeated_is_no_problem(arguments):
    assert options(["/some/where/snakemake", *arguments.split()]).repeated == []


def test_the_command_line_of_another_program_is_not_judged():
    """One that uses Snakemake's API."""
    assert options(["plan.py", "--configfile=a", "--configfile=b", "--cores"]) == ([], [])
    module = str(Path("site-packages") / "snakemake" / "__main__.py")
    assert len(options([module, "--configfile=a", "--configfile=b"]).repeated) == 1


def test_targets_are_all_rules_and_files_that_are_named():
    given = "a.png -R train --until=c.nc -n --omit-from d --configfile x.yaml --prioritize e -- b.png -x"
    assert options(["snakemake", *given.split()]).targets == [
        "-x",
        "a.png",
        "b.png",
        "c.nc",
        "d",
        "e",
        "train",
    ]


def test_snakemake_refuses_two_config_files_given_apart():
    overlays = ["--configfile=config/ci.yaml", "--configfile=config/sorting.yaml"]
    call = [sys.executable, "-m", "snakemake", "--cores", "1", "-n", *overlays]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "--configfile config/ci.yaml config/sorting.yaml" in done.stdout + done.stderr
