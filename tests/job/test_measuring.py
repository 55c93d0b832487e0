from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
import xarray as xr

from rllc.job.measuring import Measuring
from rllc.models.attention_only import model
from rllc.store import manifest as manifests
from rllc.store.blocks import write_blocks
from rllc.store.checkpoints import save
from rllc.tasks.arrow import as_lists, with_manifest


@pytest.fixture
def job(tmp_path):
    folder = tmp_path / "seed0"
    folder.mkdir()
    entries = []
    for step in (0, 10, 20):
        file = folder / f"step{step}.bin"
        file.write_bytes(bytes([step]))
        entries.append(manifests.file_entry(file, step=step))
    manifests.write(folder / "from0.json", checkpoints=entries, model={"n_layers": 1})
    return Measuring(
        checkpoints=folder / "from0.json", blocks=None, side="held_out", teacher=None, tokenizer=None, family=None, compute={}, labels={}, stream=0,
        batch_stream=0, code="c", output=tmp_path / "out.nc",
    )  # fmt: skip


def test_a_job_on_some_checkpoints_reads_the_same_files(job):
    found = job.entries([20, 0])
    assert [entry["step"] for entry in found] == [0, 20]
    assert manifests.verified(job.checkpoints, found[1]).read_bytes() == bytes([20])
    assert [entry["step"] for entry in job.entries()] == [0, 10, 20]


def test_a_step_that_the_chunk_lacks_is_named(job):
    with pytest.raises(ValueError, match="no checkpoint at step 15, 30"):
        job.entries([0, 30, 15])


def test_drawing_more_contexts_than_differ_is_said_in_the_log(job, tmp_path, caplog):
    ids = np.asarray([[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 1, 1]], np.uint16)
    table = with_manifest(pa.table({"input_ids": as_lists(ids)}), {"documents": 1, "tokens": 9})
    write_blocks(tmp_path / "own.json", [("held_out", table)])
    reading = replace(job, blocks=tmp_path / "own.json", compute={"device": "cpu"})
    reading.batches("draws", count=1, batch_size=3, scored=None)
    assert not caplog.messages
    reading.batches("draws", count=2, batch_size=2, scored=None)
    assert caplog.messages == ["own: 4 contexts are drawn (draws), 3 held-out ones are different"]


FACTS = {"n_layers": 1, "n_heads": 1, "d_model": 4, "d_head": 2, "n_ctx": 3, "d_vocab": 3}


@pytest.fixture
def reading(tmp_path):
    """A job that reads a chunk of two checkpoints, and tokens; a teacher has such a chunk."""
    every = {seed: model(**FACTS).initial_weights(seed=seed, query_key_factor=9.0) for seed in range(4)}
    for name, seeds in (("student", (0, 1)), ("teacher", (2, 3))):
        entries = []
        for step, seed in enumerate(seeds):
            file = tmp_path / f"{name}{step}.safetensors"
            save(every[seed], file, {"step": step})
            entries.append(manifests.file_entry(file, step=step))
        manifests.write(tmp_path / f"{name}.json", checkpoints=entries, model={"family": "f", **FACTS})
    ids = np.asarray([[0, 1, 2], [0, 2, 2], [0, 2, 1], [0, 1, 1]], np.uint16)
    table = with_manifest(pa.table({"input_ids": as_lists(ids)}), {"documents": 4, "tokens": 8})
    write_blocks(tmp_path / "own.json", [("held_out", table)])
    job = Measuring(
        checkpoints=tmp_path / "student.json", blocks=tmp_path / "own.json", side="held_out", teacher=None, tokenizer=None,
        family=model, compute={"device": "cpu", "precision": "fp32"}, labels={"seed": 0}, stream=5,
        batch_stream=6, code="c", output=tmp_path / "out.nc",
    )  # fmt: skip
    return job, every


def test_the_teacher_is_its_last_checkpoint(reading, tmp_path):
    job, every = reading
    plain = job.batches("draws", count=2, batch_size=2, scored=1)
    taught = replace(job, teacher=tmp_path / "teacher.json").batches("draws", count=2, batch_size=2, scored=1)
    for one, other in zip(plain, taught, strict=True):
        assert torch.equal(one.contexts, other.contexts) and torch.equal(one.positions, other.positions)
        torch.testing.assert_close(other.targets, model(**FACTS).predictions(every[3], one))


@pytest.mark.parametrize(
    "other",
    [{"stream": 8}, {"batch_stream": 8}, {"code": "d"}, {"compute": {"device": "cpu", "precision": "tf32"}}],
)
def test_what_was_measured_under_another_stream_or_code_is_measured_again(reading, other):
    job, every = reading
    seen = []

    def measure(weights, _, step):
        seen.append(step)
        assert torch.equal(weights["embed.W_E"], every[step]["embed.W_E"])
        return xr.Dataset({"seed_of_noise": float(job.seed(step) % 1000)})

    for one, steps in ((job, [0, 1]), (job, []), (replace(job, **other), [0, 1])):
        seen.clear()
        one.write(measure, sampling={"draws": 3})
        assert seen == steps
