import pytest

from rllc.job.measuring import Measuring
from rllc.store import manifest as manifests


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
