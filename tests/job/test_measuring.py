from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from rllc.job.measuring import Measuring
from rllc.store import manifest as manifests
from rllc.store.blocks import write_blocks
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
        checkpoints=folder / "from0.json", blocks=None, teacher=None, tokenizer=None, family=None, compute={}, labels={}, stream=0,
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
