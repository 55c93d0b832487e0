import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rllc.run.targets import near, not_measured, refused

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    "results/language/rllc.nc",
    "results/language/llc.nc",
    "results/sort/rllc.nc",
    *(f"results/figures/rllc_by_distribution.{end}" for end in ("png", "pdf", "nc", "txt")),
    "results/figures/corpus_summary.png",
]


@pytest.mark.parametrize(
    ("target", "nearest"),
    [
        ("results/figures/rllc_by_distributon.png", "results/figures/rllc_by_distribution.png"),
        ("results/figures/rllc_by_distributon.pdf", "results/figures/rllc_by_distribution.pdf"),
        ("results/figures/rllc_by.png", "results/figures/rllc_by_distribution.png"),
        ("rllc_by_distribution.png", "results/figures/rllc_by_distribution.png"),
        ("results/language/rlc.nc", "results/language/rllc.nc"),
        ("results/langauge/rllc.nc", "results/language/rllc.nc"),
        ("calibrat", "calibrate"),
    ],
)
def test_a_misspelt_target_is_near_the_one_that_was_meant(target, nearest):
    found = near(target, [*FILES, "calibrate"])
    assert found[0] == nearest
    stems = [Path(name).with_suffix("") for name in found]
    assert len(stems) == len({*stems}), "each result once, not once for every suffix"


def test_a_target_like_none_has_no_near_ones():
    assert near("results/nothing/of/this/kind.nc", FILES) == []


def test_a_dataset_that_another_experiment_has_is_named():
    measured = {"language": ["rllc", "llc"], "sort": ["rllc"], "plain": []}
    said = not_measured("results/sort/llc.nc", "results", measured)
    assert "sort" in said and "language" in said and "rllc" in said
    assert "none" in not_measured("results/plain/other.nc", "results", measured)
    for made in (
        "results/language/llc.nc",
        "results/figures/llc.nc",
        "other/sort/llc.nc",
        "results/sort/llc.png",
    ):
        assert not_measured(made, "results", measured) is None


class Rule(SimpleNamespace):
    def is_producer(self, file):
        return file in self.makes


def judge(*named, tmp_path=None, overlays=(), given=()):
    """What is refused in a study with one figure, where these overlays lie in config/."""
    rules = [Rule(name="all", makes=()), Rule(name="draw", makes=FILES)]
    measured = {"language": ["rllc", "llc"], "sort": ["rllc"]}
    return refused(
        named, rules=rules, files=FILES, results="results", measured=measured, given=map(Path, given)
    )


def test_rules_and_files_that_are_made_are_not_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert judge("all", "draw", FILES[0], f"./{FILES[1]}") == []


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("figures: {mine_by_distribution: {draws: x}}", "results/figures/mine_by_distribution.png"),
        ("experiments: {mine: {}}", "results/mine/rllc.nc"),
        ("experiments: {mine: {}}", "results/figures/mine_circuits.png"),
        ("animations: {moving: {}}", "results/figures/moving.gif"),
        ("results: results/other", "results/other/figures/whatever.png"),
    ],
)
def test_the_overlay_that_was_forgotten_is_named(tmp_path, monkeypatch, text, target):
    monkeypatch.chdir(tmp_path)
    Path("config").mkdir()
    Path("config/forgotten.yaml").write_text(text)
    Path("config/other.yaml").write_text("experiments: {language: {}}")
    Path("config/broken.yaml").write_bytes(b"\x89PNG {")
    (said,) = judge(target)
    assert target in said and "--configfile config/forgotten.yaml" in said
    (said,) = judge(target, given=["config/forgotten.yaml"])
    assert "forgotten" not in said


def test_snakemake_names_near_targets_overlays_and_datasets_before_it_plans():
    named = {
        "results/figures/rllc_by_distributon.png": "results/figures/rllc_by_distribution.png",
        "results/sorting/figures/sort_5head.png": "--configfile config/sorting.yaml",
        "results/language_1layer/hessian.nc": "language",
        "calibrat": "calibrate",
    }
    call = [sys.executable, "-m", "snakemake", "--cores", "1", "-n", "--until", "claimss", "--", *named]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    for wrong, right in {**named, "claimss": "claims"}.items():
        (line,) = [line for line in said.splitlines() if f"`{wrong}`" in line]
        assert right in line
    assert "MissingRuleException" not in said and "KeyError" not in said
