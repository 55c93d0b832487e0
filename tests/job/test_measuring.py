from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
import xarray as xr
from tokenizers import Tokenizer, models

from rllc.job.measuring import Files, Measuring
from rllc.job_settings.compute import Compute
from rllc.job_settings.functions import NamedFunction
from rllc.job_settings.measures import Measure
from rllc.models.attention_only import model
from rllc.seeds import derive
from rllc.store import manifest as manifests
from rllc.store.blocks import write_blocks
from rllc.store.checkpoints import save
from rllc.store.datasets import write_dataset
from rllc.tasks.arrow import as_lists, with_manifest

ON_CPU = Compute("cpu", "fp32", 1)
SETTINGS = Measure(
    family=NamedFunction("rllc.models.attention_only:model"), kernel=NamedFunction("rllc.measures.metrics.kernel:metrics"),
    keywords={}, attribute="sampling", steps=[0], compute=ON_CPU, side="held_out", stream=5, batch_stream=6,
)  # fmt: skip


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
        SETTINGS,
        files(tmp_path, checkpoints=folder / "from0.json"),
        training_seed=0,
        distribution=None,
        code="c",
    )


def files(tmp_path, **given):
    none = {
        "blocks": None,
        "teacher": None,
        "tokenizer": None,
        "after": [],
        "earlier": [],
        "output": tmp_path / "out.nc",
    }
    return Files(**none | given)


def reads(job, **given):
    """The job, with other files."""
    return replace(job, files=replace(job.files, **given))


def told(job, **given):
    """The job, with other settings."""
    return replace(job, settings=replace(job.settings, **given))


def test_a_job_on_some_checkpoints_reads_the_same_files(job):
    found = job.entries([20, 0])
    assert [entry["step"] for entry in found] == [0, 20]
    assert manifests.verified(job.files.checkpoints, found[1]).read_bytes() == bytes([20])
    assert [entry["step"] for entry in job.entries()] == [0, 10, 20]


def test_a_step_that_the_chunk_lacks_is_named(job):
    with pytest.raises(ValueError, match="no checkpoint at step 15, 30"):
        job.entries([0, 30, 15])


def test_drawing_more_contexts_than_differ_is_said_in_the_log(job, tmp_path, caplog):
    ids = np.asarray([[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 1, 1]], np.uint16)
    table = with_manifest(pa.table({"input_ids": as_lists(ids)}), {"documents": 1, "tokens": 9})
    write_blocks(tmp_path / "own.json", [("held_out", table)])
    reading = reads(job, blocks=tmp_path / "own.json")
    reading.batches("draws", count=1, batch_size=3, scored=None)
    assert not caplog.messages
    reading.batches("draws", count=2, batch_size=2, scored=None)
    assert caplog.messages == ["own: 4 contexts are drawn (draws), 3 held-out ones are different"]


def test_noise_is_of_the_stream_and_the_step_or_of_the_stream_alone(job):
    one, other = told(job, stream=3), told(job, stream=4)
    assert [one.seed(step) for step in (0, 10)] == [derive(3, 0), derive(3, 10)]
    assert {one.seed(step, seeded=True) for step in (0, 10)} == {3}
    assert other.seed(10) == derive(4, 10) and other.seed(10, seeded=True) == 4


def test_token_that_opens_contexts_is_that_of_the_settings(job, tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "<|endoftext|>": 7}, unk_token="a"))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    reading = reads(job, tokenizer=tmp_path / "tokenizer.json")
    assert told(reading, bos="known").bos == 7
    assert told(reading, bos="a").bos == 0
    assert told(reading, bos=None).bos is None


def test_contexts_are_the_first_of_their_side(job, tmp_path):
    sides = {"train": [[0, 1, 2], [0, 2, 2]], "held_out": [[0, 2, 1]]}
    tables = [
        (side, with_manifest(pa.table({"input_ids": as_lists(np.asarray(ids, np.uint16))}), {"documents": 1, "tokens": 2}))
        for side, ids in sides.items()
    ]  # fmt: skip
    write_blocks(tmp_path / "own.json", tables)
    for side, ids in sides.items():
        reading = told(reads(job, blocks=tmp_path / "own.json"), side=side)
        assert reading.training_contexts().tolist() == sides["train"]
        for count in range(1, len(ids) + 1):
            assert reading.contexts(count).tolist() == ids[:count]
        with pytest.raises(
            ValueError, match=rf"{len(ids)} contexts \({side}\), {len(ids) + 1} are asked for"
        ):
            reading.contexts(len(ids) + 1)


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
    own = files(tmp_path, checkpoints=tmp_path / "student.json", blocks=tmp_path / "own.json")
    return Measuring(SETTINGS, own, training_seed=3, distribution="text", code="c"), every


def test_the_teacher_is_its_last_checkpoint(reading, tmp_path):
    job, every = reading
    plain = job.batches("draws", count=2, batch_size=2, scored=1)
    taught = reads(job, teacher=tmp_path / "teacher.json").batches("draws", count=2, batch_size=2, scored=1)
    for one, other in zip(plain, taught, strict=True):
        assert torch.equal(one.contexts, other.contexts) and torch.equal(one.positions, other.positions)
        torch.testing.assert_close(other.targets, model(**FACTS).predictions(every[3], one))


@pytest.mark.parametrize(
    "other",
    [{"stream": 8}, {"batch_stream": 8}, {"code": "d"}, {"compute": replace(ON_CPU, precision="tf32")}],
)
def test_what_was_measured_under_another_stream_or_code_is_measured_again(reading, other):
    job, every = reading
    seen = []

    def measure(weights, _, step):
        seen.append(step)
        assert torch.equal(weights["embed.W_E"], every[step]["embed.W_E"])
        return xr.Dataset({"seed_of_noise": float(job.seed(step) % 1000)})

    changed = replace(job, **other) if "code" in other else told(job, **other)
    for one, steps in ((job, [0, 1]), (job, []), (changed, [0, 1])):
        seen.clear()
        one.write(measure, sampling={"draws": 3})
        assert seen == steps


def test_what_comes_after_another_measure_reads_its_part_and_is_measured_again_where_that_changes(
    reading, tmp_path
):
    job, _ = reading
    part, seen = tmp_path / "parts/attention_scores/seed0.from0.nc", []

    def measure(weights, _, step):
        seen.append(step)
        return xr.Dataset({"number": float(job.part("attention_scores")["score"])})

    job = reads(job, after=[tmp_path / "parts/tokens/seed0.from0.nc", part])
    for directory in ("attention_scores", "tokens"):
        (tmp_path / "parts" / directory).mkdir(parents=True)
    write_dataset(xr.Dataset({"score": 7.0}), job.files.after[0])
    for score, steps in ((1.0, [0, 1]), (1.0, []), (2.0, [0, 1])):
        write_dataset(xr.Dataset({"score": score}), part)
        seen.clear()
        job.write(measure, brackets={})
        assert seen == steps
        assert (xr.load_dataset(job.files.output)["number"] == score).all()
    assert "after" not in xr.load_dataset(job.files.output).attrs


def test_checkpoint_is_measured_again_where_one_before_it_changes(reading, tmp_path):
    job, every = reading
    earlier, seen = tmp_path / "earlier.json", []

    def measure(weights, _, step):
        seen.append(step)
        return xr.Dataset({"before": float(job.before(step, 1)[0][0])})

    job = told(reads(job, earlier=[earlier]), earlier=1)
    for seed, steps in ((0, [0, 1]), (0, []), (1, [0])):
        file = tmp_path / f"earlier{seed}.safetensors"
        save(every[seed], file, {"step": -5})
        manifests.write(earlier, checkpoints=[manifests.file_entry(file, step=-5)], model={})
        seen.clear()
        job = replace(job)  # as a new process
        job.write(measure, integrity={})
        assert seen == steps
        assert xr.load_dataset(job.files.output)["before"].values.tolist() == [[[-5.0, 0.0]]]


def test_part_has_the_coordinates_of_its_job(reading):
    """A measure without distributions has no such coordinate."""
    job, _ = reading
    for one, dims in (
        (job, ("seed", "distribution", "step")),
        (replace(job, distribution=None), ("seed", "step")),
    ):
        one.write(lambda weights, _, step: xr.Dataset({"number": float(step)}), sampling={})
        part = xr.load_dataset(one.files.output)
        assert part["number"].dims == dims
        assert part["seed"].values.tolist() == [3] and part["step"].values.tolist() == [0, 1]
        assert "distribution" not in dims or part["distribution"].values.tolist() == ["text"]
