"""What each script is told, of the default study and of small changes of it."""

import inspect
from pathlib import Path

import pytest

from rllc.job_settings.file import as_text, read_settings
from rllc.study import parameters
from rllc.study.datasets import datasets, measured
from rllc.study.parameters import compute, import_checkpoints, measure, train
from rllc.study.reading import read
from rllc.study.steps import chunks
from rllc.study.table import ANALYSES


def told(study):
    """Everything that the jobs of a study are told, but for the files of figures and claims."""
    for entry in study.distributions.values():
        if entry.source in ("installed", "files"):
            yield parameters.read_corpus(entry)
        elif entry.source == "mixture":
            yield parameters.mix_corpora(study, entry, {part: f"{part}.json" for part in entry.weights})
    for name, experiment in study.experiments.items():
        made = measured(experiment)
        for start, chunk in chunks(experiment).items():
            yield train(study, name, 0, start)
            for each in made.values():
                yield measure(study, name, each, 0, chunk)
        for dataset, each in made.items():
            yield parameters.gather(study, experiment, dataset, each.spec, ["a.nc"], {})
        for spec in ANALYSES:
            if spec.name in datasets(experiment):
                yield parameters.analyse(study, experiment, spec, {"llc": "llc.nc"})


def test_errors_over_probes_are_told_their_degrees_of_freedom(config):
    study = read(config)
    experiment = study.experiments["language"]
    section = experiment.hessian.model_copy(update={"probes": 4})
    changed = experiment.model_copy(update={"hessian": section})
    spec = measured(changed)["hessian"].spec
    told = parameters.gather(study, changed, "hessian", spec, ["a.nc"], {})
    assert told.freedom == {"hessian_trace_se": 3, "hessian_trace_head_se": 3}
    assert parameters.gather(study, changed, "traces", None, ["a.nc"], {}).freedom == {}


def test_settings_of_every_job_come_back_from_their_file_as_they_were(config, tmp_path):
    """As JSON they are the same text again, so that nothing is read as another number."""
    seen, file = set(), tmp_path / "settings.json"
    for settings in told(read(config)):
        file.write_text(as_text(settings))
        assert as_text(read_settings(file, type(settings))) == as_text(settings)
        seen.add(type(settings).__name__)
    assert seen == {"ReadCorpus", "MixCorpora", "Train", "Measure", "Gather", "Analyse"}


def test_keywords_are_those_of_the_functions_that_get_them(config):
    """A misnamed one would end a job after its inputs were made."""
    for settings in told(read(config)):
        for name in ("kernel", "analysis"):
            if hasattr(settings, name):
                function = getattr(settings, name).load()
                beside = {"random_seed": 0} if name == "analysis" else {}
                inspect.signature(function).bind("data", **settings.keywords, **beside)


def test_streams_are_of_the_seed_or_the_same_for_all_as_the_measure_says(config):
    study = read(config)
    made, chunk = measured(study.experiments["language"]), [0]
    for each in made.values():
        streams = {measure(study, "language", each, seed, chunk).stream for seed in (0, 1)}
        assert len(streams) == (2 if each.spec.stream and each.spec.stream_of_seed else 1), each.spec.name
        assert (streams == {0}) == (not each.spec.stream)
    assert train(study, "language", 0, 0).stream != train(study, "language", 1, 0).stream


def test_what_stays_on_the_cpu_beside_a_gpu_has_its_precision(config):
    config["compute"] |= {"device": "cuda", "precision": "bf16", "gpu_jobs": ["train"]}
    study = read(config)
    assert [compute(study, rule).device for rule in ("train", "attention_scores")] == ["cuda", "cpu"]
    assert [compute(study, rule).precision for rule in ("train", "attention_scores")] == ["bf16", "fp32"]
    config["compute"] |= {"device": "cpu"}
    assert [compute(read(config), rule).precision for rule in ("train", "attention_scores")] == [
        "bf16",
        "tf32",
    ]


@pytest.mark.parametrize(("schedule", "length"), [("constant", [1150, 6500]), ("linear", [6500, 6500])])
def test_segment_ends_where_the_rate_says(chunked, schedule, length):
    """Where it is constant a longer training runs no earlier segment again."""
    chunked["experiments"]["language"]["training"]["schedule"] = schedule
    study = read(chunked)
    parts = [train(study, "language", 0, start) for start in (0, 1250)]
    assert [(part.chunk[-1], part.length) for part in parts] == [(1150, length[0]), (6500, length[1])]
    assert {(part.experiment, part.context) for part in parts} == {("language", 128)}


def test_how_often_a_state_is_kept_is_no_setting_of_a_training(config):
    """No weight depends on it, so it makes no training stale."""
    before = as_text(train(read(config), "language", 0, 0))
    config["experiments"]["language"]["training"]["keep_state_every"] += 1
    assert as_text(train(read(config), "language", 0, 0)) == before


def test_chunk_of_imported_checkpoints_is_those_of_the_folder(config, tmp_path):
    for step in (0, 7):
        (tmp_path / f"step_{step}.pt").touch()
    theirs = {"source": "import", "path": str(tmp_path), "chunks": [0]}
    config["experiments"]["theirs"] = {
        "like": "language", "training": None, "checkpoints": theirs, "tokens": None, "path_patching": None, "classification": None,
        "hessian_rank": None,
    }  # fmt: skip
    found = import_checkpoints(read(config), "theirs", 0, 0)
    assert (found.folder, found.chunk) == (Path(tmp_path), [0, 7])
    assert found.model["family"] == "attention_only"
