"""The pace of finished jobs: which records count, and what they come to."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rllc.job.segments import weights_file
from rllc.run import forecast, recorded
from rllc.study import cost, limits
from rllc.study.reading import read

HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
ROW = "\t0:00:45\t525.75\t2227.43\t385.64\t444.56\t1.73\t0.40\t97.79\t45.44\n"
NOW = 1_700_000_000.0
SNAKEFILE = """
rule all:
    input: expand("results/{seed}.nc", seed=config["seeds"])

rule below:
    output: "results/below.txt"
    params: settings=config["below"]
    shell: "echo {params.settings} > {output}"

rule metrics:
    input: "results/below.txt"
    output: "results/{seed}.nc"
    benchmark: "results/benchmarks/{seed}.tsv"
    params: settings=config["settings"], code=config["code"]
    shell: "sleep 0.2; echo {params.settings} > {output}"
"""
FIRST = SimpleNamespace(experiment="language", start="0")
PLAN = """
import sys
from types import SimpleNamespace
from rllc.run import forecast, recorded
from rllc.run.dag import dag

recorded.SHORT = 0.0
forecast.COSTS["metrics"] = lambda *_: forecast.Cost(cpu_seconds=forecast.START + 0.1)
study = SimpleNamespace(compute=SimpleNamespace(on_gpu=lambda rule: False, threads=1))
with dag(sys.argv[1:]) as planned:
    found = recorded.paces(study, planned, planned.workflow.persistence)
print(found["metrics", ""].jobs if found else 0)
"""


class Job(SimpleNamespace):
    """A job of Snakemake's plan, which can be a key."""

    __hash__ = object.__hash__


class Results:
    """Jobs with results in a folder, as Snakemake's plan and records show them."""

    def __init__(self, folder):
        self.folder, self.before, self.records = folder, {}, {}

    @property
    def jobs(self):
        return self.before.keys()

    def job_dependencies(self, job):
        return self.before[job]

    def metadata(self, output):
        return self.records.get(output)

    def add(self, rule, taken, *, after=(), settings="now", experiment="language", **where):
        """A job that ended at NOW after so many seconds, with the settings of its record as its own."""
        number = len(self.before)
        output, benchmark = self.folder / f"{number}.nc", self.folder / f"{number}.tsv"
        output.write_text("")
        benchmark.write_text(f"{HEAD}{taken}{ROW}")
        for file in (output, benchmark):
            os.utime(file, (NOW, NOW))
        job = Job(
            rule=SimpleNamespace(name=rule),
            wildcards=SimpleNamespace(experiment=experiment, **({"start": "0"} | where)),
            output=[str(output)],
            benchmark=str(benchmark),
            params=SimpleNamespace(settings=settings),
        )
        self.before[job] = list(after)
        self.records[str(output)] = SimpleNamespace(params=[repr(settings), "'code'"], endtime=NOW)
        return job

    def paces(self, study):
        return recorded.paces(study, self, self)


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path)


def taken(study, rule, ratio, **where):
    """Seconds of a job whose work takes ``ratio`` times as long as by the cost model."""
    wildcards = SimpleNamespace(**{"experiment": "language", "start": "0"} | where)
    work = forecast.of(study, rule, wildcards).cpu_seconds - cost.START
    return limits.seconds(cost.Cost(cpu_seconds=cost.START + ratio * work), study, rule)


def contents(folder):
    return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.rglob("*")}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{HEAD}45.96{ROW}", 45.96),
        (f"{HEAD}45.96{ROW}".replace("45.44", "NA"), 45.96),
        (f"{HEAD}4", None),
        (f"{HEAD}45.96{ROW}".rstrip("\n"), None),
        (f"{HEAD}45.96\t0:00:45\n", None),
        (f"{HEAD}45.96{ROW}45.96{ROW}", None),
        (f"{HEAD}nan{ROW}", None),
        (f"{HEAD}NA{ROW}", None),
        (f"{HEAD}-1{ROW}", None),
        (HEAD, None),
        ("", None),
        ("minutes\n3\n", None),
    ],
)
def test_seconds_of_a_whole_benchmark_file_and_of_no_other(tmp_path, text, value):
    file = tmp_path / "0.tsv"
    file.write_text(text)
    assert recorded.seconds(file) == value


def test_seconds_of_a_missing_file_or_of_bytes_is_none(tmp_path):
    (tmp_path / "bytes.tsv").write_bytes(b"\xff\xfe\x00")
    assert recorded.seconds(tmp_path / "bytes.tsv") is None
    assert recorded.seconds(tmp_path / "missing.tsv") is None
    assert recorded.seconds(tmp_path) is None


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_pace_is_the_median_and_the_largest_ratio_without_the_start(config, results, device):
    config["compute"] |= {"device": device, "threads": 4}
    study = read(config)
    for ratio in (30.0, 20.0, 70.0):
        job = results.add("train", taken(study, "train", ratio))
        weights_file(Path(job.output[0]).parent, 0).touch()
    assert results.paces(study)["train", "language"] == pytest.approx((30, 70, 3))
    assert results.paces(study)["train", ""] == pytest.approx((30, 70, 3))


def test_an_experiment_has_the_pace_of_its_own_jobs_and_another_that_of_the_rule(config, results):
    study = read(config)
    for experiment, ratio in (("language", 2.0), ("sort_1head", 6.0), ("sort_1head", 8.0)):
        where = {"experiment": experiment, "dataset": "llc"}
        results.add("sample_full", taken(study, "sample_full", ratio, **where), **where)
    paces = results.paces(study)
    found = {name: paces["sample_full", name].typical for name in ("language", "sort_1head", "")}
    assert found == pytest.approx({"language": 2, "sort_1head": 7, "": 6})
    work = {}
    for name in ("language", "sort_2head_baseline"):
        job = "sample_full", SimpleNamespace(experiment=name, dataset="llc", start="0")
        by_model, by_pace = forecast.of(study, *job), forecast.of(study, *job, paces)
        work[name] = (by_pace.cpu_seconds - cost.START) / (by_model.cpu_seconds - cost.START)
        assert by_pace.megabytes == by_model.megabytes
    assert work == pytest.approx({"language": 2, "sort_2head_baseline": 6})


def test_jobs_with_other_settings_now_or_below_or_changed_results_do_not_count(config, results):
    """The code may have changed: records hold it too, but it is not compared."""
    study = read(config)
    long = taken(study, "hessian", 100)
    below = results.add("hessian", long)
    last = results.add("hessian", long, after=[below])

    def number():
        paces = results.paces(study)
        return paces["hessian", ""].jobs if paces else 0

    assert number() == 2
    last.params.settings = "later"
    assert number() == 1
    last.params.settings, below.params.settings = "now", "later"
    assert number() == 0
    below.params.settings = "now"
    record = results.records.pop(last.output[0])
    assert number() == 1
    results.records[last.output[0]] = record
    os.utime(last.output[0], (NOW + 60, NOW + 60))
    assert number() == 1
    Path(last.output[0]).unlink()
    assert number() == 1
    Path(below.benchmark).write_text(HEAD + "12")
    assert number() == 0


def test_a_job_that_found_results_of_an_earlier_one_does_not_count(config, results):
    study = read(config)
    measured, trained = (results.add(rule, taken(study, rule, 100)) for rule in ("hessian", "train"))
    began = {job: NOW - recorded.seconds(Path(job.benchmark)) for job in (measured, trained)}
    kept = {
        measured: Path(measured.output[0]).with_suffix(".cells") / "0000000.0123456789abcdef.nc",
        trained: weights_file(Path(trained.output[0]).parent, 0),
    }
    for job, file in kept.items():
        file.parent.mkdir(exist_ok=True)
        file.touch()
        for when, counts in ((began[job] + 1, True), (began[job] - 60, False)):
            os.utime(file, (when, when))
            assert ((job.rule.name, "") in results.paces(study)) == counts, job.rule.name


def test_a_job_that_is_hardly_more_than_its_start_says_nothing(config, results):
    """Unless it was forecast to be more."""
    study = read(config)
    results.add("circuits", recorded.SHORT - 1, experiment="sort_1head")
    assert not results.paces(study)
    results.add("circuits", recorded.SHORT + 1, experiment="sort_1head")
    assert results.paces(study)["circuits", ""].jobs == 1
    assert forecast.of(study, "train", FIRST).cpu_seconds > recorded.SHORT
    weights_file(Path(results.add("train", 1.0).output[0]).parent, 0).touch()
    assert results.paces(study)["train", ""].typical == pytest.approx(0, abs=0.01)


def test_so_many_jobs_of_a_rule_are_read_at_most(config, results, monkeypatch):
    study, number = read(config), 2 * recorded.MOST
    for seed in range(number):
        results.add("hessian", 100.0, seed=seed)
    assert results.paces(study)["hessian", ""].jobs == recorded.MOST
    for job in list(results.jobs)[: number - 3]:
        Path(job.output[0]).unlink()  # has not finished
    assert results.paces(study)["hessian", ""].jobs == 3


def test_reading_changes_no_file(config, results):
    study = read(config)
    results.add("hessian", 100.0)
    before = contents(results.folder)
    assert results.paces(study)
    assert contents(results.folder) == before


def test_records_that_snakemake_itself_writes_count_until_a_setting_changes(tmp_path):
    """A run of two seeds, then plans of three: as it was, with other code, settings, or settings below."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    given = {"seeds": [0, 1], "settings": "a.json", "below": "b.json", "code": "c"}

    def call(*command, **changes):
        (tmp_path / "config.json").write_text(json.dumps(given | changes))
        done = subprocess.run(
            [sys.executable, *command, "config.json"], cwd=tmp_path, capture_output=True, text=True
        )
        assert not done.returncode, done.stderr
        return done.stdout

    call("-m", "snakemake", "--cores", "1", "--configfile")
    assert 0.1 < recorded.seconds(tmp_path / "results/benchmarks/0.tsv") < 60
    for changes, jobs in (
        ({}, 2),
        ({"code": "edited"}, 2),
        ({"settings": "edited.json"}, 0),
        ({"below": "edited.json"}, 0),
    ):
        said = call("-c", PLAN, **changes, seeds=[0, 1, 2])
        assert json.loads(said.splitlines()[-1]) == jobs, changes
