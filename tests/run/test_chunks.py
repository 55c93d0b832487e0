"""Chunks of a given length: against all partitions of few checkpoints, and against the forecast."""

import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from snakemake.utils import update_config

from rllc.run import chunks, forecast
from rllc.study import steps
from rllc.study.limits import seconds
from rllc.study.reading import read

ROOT = Path(__file__).resolve().parents[2]


def partitions(count):
    """The first indices of every way to cut ``range(count)`` into runs."""
    for size in range(count):
        for cuts in combinations(range(1, count), size):
            yield [0, *cuts]


def runs(starts, count):
    return [(first, after - 1) for first, after in pairwise([*starts, count])]


@given(
    gaps=st.lists(st.integers(1, 50), min_size=1, max_size=8),
    one=st.integers(1, 20),
    limit=st.integers(1, 120),
)
def test_as_few_chunks_as_keep_to_the_limit_and_the_most_even_of_these(gaps, one, limit):
    """The truth is every partition there is."""
    count = len(gaps)

    def longest(first, last):
        return max(one * (last - first + 1), sum(gaps[first : last + 1]))

    def allowed(starts):
        return all(longest(a, b) <= limit or a == b for a, b in runs(starts, count))

    def worth(starts):
        return len(starts), sum(longest(*run) ** 2 for run in runs(starts, count))

    found = chunks.balanced(count, longest, limit)
    assert allowed(found)
    assert worth(found) == min(worth(each) for each in partitions(count) if allowed(each))


@pytest.fixture
def published(config):
    update_config(config, yaml.safe_load((ROOT / "config/paper.yaml").read_text()))
    return config


@pytest.mark.parametrize("minutes", [5, 30, 120])
def test_pasted_into_the_config_jobs_take_that_long_at_most(published, minutes):
    study = read(published)
    published["experiments"]["language"]["checkpoints"]["chunks"] = chunks.proposed(
        study, "language", minutes
    )
    study = read(published)
    table = steps.chunks(study.experiments["language"])
    for rule, more in chunks.jobs(study.experiments["language"]):
        for start, members in table.items():
            wildcards = SimpleNamespace(experiment="language", start=start, **more)
            long = seconds(forecast.of(study, rule, wildcards), study, rule) / 60
            assert long <= minutes or len(members) == 1, (rule, start)
    assert list(table) == study.experiments["language"].checkpoints.chunks


def test_slower_jobs_get_more_chunks_and_the_overlay_says_where_times_come_from(config):
    study = read(config)
    paces = {("train", ""): forecast.Pace(3.0, 3.0, 4)}
    assert chunks.slowest(study, "language", 0, paces)[0] > chunks.slowest(study, "language", 0)[0]
    by_model, by_pace = (chunks.overlay(study, 3, each) for each in (forecast.NONE, paces))
    assert by_model.splitlines()[0] == "# times come from the cost model"
    assert by_pace.splitlines()[0].startswith("# times come from 4 finished jobs, ")
    found = [
        len(yaml.safe_load(each)["experiments"]["language"]["checkpoints"]["chunks"])
        for each in (by_model, by_pace)
    ]
    assert found[0] < found[1]
    ((most, rule),) = {chunks.slowest(study, "language", 0, paces)}
    assert f"to {most:.1f} min ({rule})" in by_pace


def test_paces_come_from_the_plan_of_snakemake_where_jobs_have_finished(config, tmp_path, monkeypatch):
    study = read(config)
    monkeypatch.chdir(tmp_path)
    Path("Snakefile").write_text("raise ValueError")
    assert not chunks.recorded(study, [])  # nothing has run, so no plan is made
    Path("results/benchmarks").mkdir(parents=True)
    Path("Snakefile").write_text("def paces(): return {('train', ''): 1}\nrule all:\n    input: []\n")
    assert chunks.recorded(study, []) == {("train", ""): 1}
    Path("Snakefile").write_text("rule all:\n    input: 'nowhere'\n")
    assert not chunks.recorded(study, [])


def test_every_job_that_a_chunk_has_counts(config):
    config["experiments"]["language"]["sampling_variants"]["likelihood"]["full"] = {
        **config["experiments"]["language"]["sampling"]["full"], "draws": 10**6,
    }  # fmt: skip
    study = read(config)
    rules = {rule for rule, _ in chunks.jobs(study.experiments["language"])}
    assert rules == {
        "train", "sample_heads", "sample_full", "hessian", "fisher", "ablation", "metrics", "attention_scores", "ngrams",
        "positions", "path_patching", "induction_ablation",
    }  # fmt: skip
    assert chunks.slowest(study, "language", 0)[1] == "sample_full"


def test_the_command_prints_an_overlay(config):
    done = call("--minutes", "1")
    _, rule = chunks.slowest(read(config), "language", 0)
    overlay = yaml.safe_load(done.stdout)
    update_config(config, overlay)
    edges = read(config).experiments["language"].checkpoints.chunks
    assert edges == overlay["experiments"]["language"]["checkpoints"]["chunks"]
    assert len(edges) > 3
    lines = done.stdout.splitlines()
    own = next(number for number, line in enumerate(lines) if line.startswith("  language: "))
    assert lines[own - 2].startswith("  # now 1 chunk, whose longest jobs take ")
    assert lines[own - 2].endswith(f"({rule})")
    assert lines[own - 1].startswith(f"  # here {len(edges)} chunks")
    study = read(config)  # with these chunks
    costs = [chunks.slowest(study, "language", chunk)[0] for chunk in edges]
    assert f"take {min(costs):.1f} to {max(costs):.1f} min" in lines[own - 1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--minutes", "0"], "give more than 0"),
        (["nowhere.yaml", "--minutes", "30"], "nowhere.yaml"),
    ],
)
def test_mistakes_are_named(given, said):
    done = call(*given)
    assert done.returncode
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def call(*given):
    return subprocess.run(
        [sys.executable, "-m", "rllc.run.chunks", *given], cwd=ROOT, capture_output=True, text=True
    )
