"""The CI study through `snakemake --profile slurm`: the same numbers, nothing wasted."""

import hashlib
import re
from pathlib import Path

import forked
import pytest
import xarray as xr

from rllc.run import forecast
from rllc.study import defaults, limits
from rllc.study.reading import read
from rllc.study.table import ANALYSES

SUBMITTED = re.compile(r"SLURM jobid (\d+) \(log: (.*)\)\.")
LOCAL_RULES = {
    "all", "read_corpus", "make_tokenizer", "summarise_corpora", "gather", "training_loss",
    "judge", "claims_page", "draw", "animate", "page", *(row.name for row in ANALYSES if row.local),
}  # fmt: skip
# What is compared with a local run: of every kind of work one part, of two measures the dataset too.
CELLS = "results/ci/language/parts"
DATASETS = ["results/ci/language/rllc.nc", "results/ci/sort_2head_baseline/circuits.nc"]
COMPARED = [
    *DATASETS,
    *(f"{CELLS}/{measure}/seed0.code.from0.nc" for measure in ("components", "hessian")),
    *(f"{CELLS}/{measure}/seed0.mixture.from0.nc" for measure in ("llc", "ablation")),
    f"{CELLS}/metrics/seed0.english.from0.nc",
    f"{CELLS}/attention_scores/seed0.from0.nc",
]

DRAWN = {"rllc_fig2_wrllc_by_head", "rllc_fig7_kcomposition", "control_prior_only", "claims"}


def fewer(root):
    """Every experiment, rule and distribution, but one chunk of checkpoints (the tiny study has two) and few
    figures: they are drawn on the login node, and the tests of the workflow draw them all.
    """
    declared = defaults.load([root / "config/ci.yaml"], root)["figures"]
    return {
        "experiments": {"language": {"checkpoints": {"chunks": [0]}}},
        "figures": {name: None for name in declared if name not in DRAWN},
    }


def planned(login, study):
    """Jobs that a run would start: the comment that Slurm is given -> (rule, wildcards)."""
    jobs = forked.plan(study.root, [*study.overlays], [], login.environment())
    return {comment(rule, w): (rule, w) for rule, w in jobs if rule not in LOCAL_RULES}


def comment(rule, wildcards):
    return f"rule_{rule}" + ("_wildcards_" + "_".join(wildcards.values()) if wildcards else "")


def config(study):
    """The config as Snakemake merges it."""
    return defaults.load([study.root / overlay for overlay in study.overlays], study.root)


@pytest.fixture(scope="module")
def study(cluster, login, folder):
    """The CI study with ``fewer`` jobs, run by Slurm; beside it ``COMPARED``, run locally meanwhile."""
    local, made = (
        login.Login(login.fresh(folder / name), cluster, login.CI, "config/fewer.yaml")
        for name in ("local", "cluster")
    )
    for each in (local, made):
        each.write("config/fewer.yaml", fewer(each.root))
    made.plan = planned(login, made)
    running = local.start(*COMPARED, how=local.LOCAL)
    made.said = made.snakemake(program=login.SNAKEMAKE, seconds=2400)
    running.end(seconds=2400)
    made.local = local
    return made


def bytes_of(root):
    """Every file that the same work makes with the same bytes -> its SHA-256."""
    patterns = ("corpora/*", "tokenizers/*", "blocks/*/*", "*/checkpoints/*/*", "*/parts/*/*.nc")
    files = [path for pattern in patterns for path in (root / "results/ci").glob(pattern) if path.is_file()]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_numbers_are_those_of_the_local_run_to_the_bit(study):
    local, ours = bytes_of(study.local.root), bytes_of(study.root)
    assert set(COMPARED) - set(DATASETS) <= set(local)
    assert any("checkpoints" in name for name in local)
    assert {name: ours.get(name) for name in local} == local
    for name in DATASETS:
        xr.testing.assert_identical(study.dataset(name), study.local.dataset(name))


def test_every_job_was_submitted_once_and_has_its_logs(study):
    logs = dict(SUBMITTED.findall(study.said))
    assert len(logs) == len(study.plan)
    for rule, wildcards in study.plan.values():
        own = (
            list((study.root / "results/ci/logs" / rule).rglob("*.log"))
            if wildcards
            else [study.root / f"results/ci/logs/{rule}.log"]
        )
        assert own
        assert all(path.is_file() for path in own)
    for number, log in logs.items():
        assert Path(log).name == f"{number}.log"
        assert "steps (100%) done" in Path(log).read_text()


def test_jobs_asked_for_what_the_cost_model_says(study, cluster):
    settings = read(config(study))
    seen = set()
    for number, log in SUBMITTED.findall(study.said):
        job = cluster.job(number)
        rule, wildcards = study.plan[job["Comment"]]
        assert (job["Partition"], job["NumCPUs"]) == ("cpu", str(settings.compute.threads)), log
        if rule in forecast.COSTS and rule != "mix_corpora":
            cost = forecast.of(settings, rule, type("Wildcards", (), wildcards))
            assert megabytes(job["MinMemoryNode"]) == int(cost.megabytes), rule
            assert minutes(job["TimeLimit"]) == limits.minutes(cost, settings, rule), rule
            seen.add(rule)
    assert {"train", "sample_heads", "sample_full", "hessian", "make_blocks"} <= seen


def megabytes(text):
    return round(float(text[:-1]) * {"M": 1, "G": 1024}[text[-1]])


def minutes(text):
    hours, rest, _ = text.split(":")
    return 60 * int(hours) + int(rest)


def test_it_said_beforehand_how_it_will_know_and_what_it_costs(study):
    assert "state of jobs by squeue" in study.said
    assert re.search(r"sample_heads +\d+ +[\d.]+ +0.00 ", study.said)
    assert re.search(r"\d+ jobs to run: about \d+ CPU minutes and \d+ MB of disk", study.said)


def test_a_second_run_submits_nothing(study, cluster):
    before = set(cluster.jobs())
    assert "Nothing to be done" in study.snakemake()
    assert set(cluster.jobs()) == before


@pytest.mark.parametrize("how", [("--workflow-profile", "slurm"), ("--profile", "profiles/slurm")])
def test_the_profile_by_its_other_names(study, how):
    assert "Nothing to be done" in study.snakemake("-n", how=how)


def test_the_published_study_is_planned_in_time(study, login, cluster):
    published = login.Login(study.root, cluster, "config/paper.yaml")
    said = published.snakemake("-n")
    count = re.search(r"([\d,]+) jobs to run: about [\d,.]+ CPU hours, [\d,.]+ GPU hours", said)
    assert int(count[1].replace(",", "")) < 3000


def test_a_figure_of_an_added_seed_submits_what_it_needs_and_no_more(study, cluster):
    overlay = study.write("config/more.yaml", "experiments: {language: {seeds: [0, 1]}}\n")
    before = set(cluster.jobs())
    study.snakemake("results/ci/figures/rllc_fig7_kcomposition.png", overlays=(overlay,))
    jobs = sorted(job["comment"] for number, job in cluster.jobs().items() if number not in before)
    assert jobs == [
        "rule_attention_scores_wildcards_language_attention_scores_1_0",
        "rule_train_wildcards_language_1_0",
    ]
