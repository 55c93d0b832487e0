"""A series of checkpoints: what is before each, over the borders of chunks, and what stays in memory."""

import pytest
import torch

from rllc.job import series as module
from rllc.job.series import Series
from rllc.models.attention_only import model
from rllc.store import manifest as manifests
from rllc.store.checkpoints import save

MODEL = model(n_layers=1, n_heads=1, d_model=4, d_head=2, n_ctx=3, d_vocab=3)


@pytest.fixture
def files(tmp_path):
    """Manifests of two chunks, the later one first, and the weights by step."""
    every, written = {}, []
    for chunk in ((30, 40), (0, 10, 20)):
        entries = []
        for step in chunk:
            every[step] = MODEL.initial_weights(seed=step)
            file = tmp_path / f"{step}.safetensors"
            save(every[step], file, {"step": step})
            entries.append(manifests.file_entry(file, step=step))
        written.append(tmp_path / f"from{chunk[0]}.json")
        manifests.write(written[-1], checkpoints=entries)
    return written, every


@pytest.fixture
def loaded(monkeypatch):
    """Steps of the checkpoints that are read from files, in order."""
    steps, read = [], module.weights_of_entry

    def counting(manifest, entry, built):
        steps.append(entry["step"])
        return read(manifest, entry, built)

    monkeypatch.setattr(module, "weights_of_entry", counting)
    return steps


def test_checkpoints_before_a_step_are_the_latest_first_over_chunks(files):
    written, every = files
    series = Series(written, MODEL, earlier=2)
    found = series.before(30, 2)
    assert [step for step, _ in found] == [20, 10]
    for step, weights in found:
        assert all(torch.equal(weights[name], every[step][name]) for name in weights)
    assert [step for step, _ in series.before(10, 2)] == [0]
    assert series.before(0, 2) == []
    assert series.before(40, 0) == []


def test_every_file_is_read_once_in_a_walk_and_few_stay(files, loaded):
    series = Series(files[0], MODEL, earlier=2)
    for step in (0, 10, 20, 30, 40):
        series.weights(step)
        series.before(step, 2)
        assert len(series._kept) <= 3
    assert loaded == [0, 10, 20, 30, 40]


def test_walk_that_begins_late_reads_only_what_it_needs(files, loaded):
    series = Series(files[0], MODEL, earlier=2)
    series.weights(40)
    series.before(40, 2)
    assert loaded == [40, 30, 20]


def test_nothing_stays_for_a_measure_that_reads_no_earlier_checkpoint(files):
    series = Series(files[0], MODEL, earlier=0)
    assert series.weights(10) is not series.weights(10)
    assert series.digests_before(40) == []


def test_digests_before_a_step_are_of_its_files(files):
    digests = {
        entry["step"]: entry["sha256"] for file in files[0] for entry in manifests.read(file)["checkpoints"]
    }
    series = Series(files[0], MODEL, earlier=2)
    assert series.digests_before(40) == [digests[30], digests[20]]
    assert series.digests_before(10) == [digests[0]]
