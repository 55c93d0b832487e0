import json

import numpy as np
import pytest
import torch

from rllc.job.segments import (
    Segment,
    newest_state,
    state_file,
    train_segment,
    weights_file,
)
from rllc.job.training_loss import training_losses
from rllc.models.initial import initial_weights
from rllc.models.loss import next_token_loss
from rllc.models.training import shuffled_batches, train
from rllc.models.transformer import Architecture
from rllc.store import manifest
from rllc.store.atomic_write import UnreadableResult
from rllc.store.checkpoints import load, save
from rllc.tasks.batch import Examples

MODEL = Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=6, d_vocab=10)


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours catches it."""


@pytest.fixture
def run(tmp_path):
    """``run(folder, chunks)`` trains the segments in order; ``kill_at`` ends one in the middle."""
    contexts = np.random.default_rng(0).integers(0, 10, (40, 6))
    blocks = tmp_path / "blocks.json"
    blocks.write_text('{"train": {"sha256": "x"}}')

    def one(folder, chunks, which=None, keep_every=4, kill_at=None, learning_rate=1e-2):
        trained = []
        previous = None
        for start, steps in chunks.items():
            segment = Segment(
                blocks=blocks, previous=previous, seed=0, code="c",
                checkpoints=tmp_path / folder / f"from{start}.json",
            )  # fmt: skip
            previous = segment.checkpoints
            if which is not None and start not in which:
                continue

            def resume(checkpoints, state):
                def report(step, _):
                    trained.append(step)
                    if step == kill_at:
                        raise Killed

                return train(
                    initial_weights(MODEL, seed=5), shuffled_batches(Examples(contexts), batch_size=4, seed=5),
                    loss=next_token_loss(MODEL), steps=20, learning_rate=learning_rate, checkpoints=checkpoints,
                    state=state, report=report,
                )  # fmt: skip

            recipe = segment.recipe(learning_rate=learning_rate)
            train_segment(resume, segment, steps, model=MODEL.__dict__, recipe=recipe, keep_every=keep_every)
        return tmp_path / folder, trained

    return one


CHUNKS = {0: [0, 3, 5], 10: [11, 20]}


def same(folder, other, steps):
    for step in steps:
        a, b = load(weights_file(folder, step)), load(weights_file(other, step))
        assert all(torch.equal(a[name], b[name]) for name in a), step


def test_segments_are_one_training(run):
    whole, _ = run("whole", {0: [0, 3, 5, 11, 20]})
    parts, trained = run("parts", CHUNKS)
    assert trained == list(range(1, 21))
    same(whole, parts, [0, 3, 5, 11, 20])


def test_a_killed_segment_goes_on_to_the_same_weights(run):
    whole, _ = run("whole", CHUNKS)
    with pytest.raises(Killed):
        run("killed", CHUNKS, kill_at=15)
    killed, trained = run("killed", CHUNKS, which=[10])
    assert trained[0] == 14, "the newest state was kept at step 13"
    assert trained[-1] == 20
    same(whole, killed, [0, 3, 5, 11, 20])


def test_a_segment_that_gains_a_checkpoint_trains_no_further_than_to_it(run):
    folder, _ = run("a", CHUNKS)
    before = manifest.read(folder / "from10.json")["checkpoints"]
    _, trained = run("a", {0: [0, 3, 5], 10: [11, 13, 20]}, which=[10])
    assert trained == list(range(6, 14))
    after = {entry["step"]: entry for entry in manifest.read(folder / "from10.json")["checkpoints"]}
    assert [after[entry["step"]] for entry in before] == before
    whole, _ = run("whole", {0: [13]})
    same(whole, folder, [13])


def test_another_recipe_uses_nothing_of_the_old_one(run):
    folder, _ = run("a", CHUNKS)
    _, trained = run("a", CHUNKS, learning_rate=2e-2)
    assert trained == list(range(1, 21))
    other, _ = run("b", CHUNKS, learning_rate=2e-2)
    same(folder, other, [0, 3, 5, 11, 20])


def test_a_segment_does_not_go_on_with_another_training(run):
    """As where ``device: auto`` finds a GPU for one job and none for the next."""
    folder, _ = run("a", CHUNKS, which=[0])
    with pytest.raises(
        ValueError, match=r"step0000005.safetensors is of another training.*another kind of device"
    ):
        run("a", CHUNKS, which=[10], learning_rate=2e-2)
    assert not weights_file(folder, 11).exists()


def test_a_newer_state_of_another_recipe_is_passed_over(tmp_path):
    for step, recipe in ((5, "own"), (9, "other")):
        save({"step": torch.tensor(step)}, state_file(tmp_path, step), {"recipe": recipe})
    assert int(newest_state(tmp_path, "own", at_most=10)["step"]) == 5
    assert newest_state(tmp_path, "own", at_most=4) is None


def test_a_corrupt_checkpoint_is_made_again_also_where_its_manifest_is_gone(run):
    folder, _ = run("a", CHUNKS)
    file = weights_file(folder, 11)
    sound = file.read_bytes()
    file.write_bytes(sound[:-3] + b"xyz")
    (folder / "from10.json").unlink()
    run("a", CHUNKS, which=[10])
    assert file.read_bytes() == sound


def test_a_lost_last_state_is_made_again_with_an_added_checkpoint(run):
    folder, _ = run("a", CHUNKS)
    (folder / "state0000020.safetensors").unlink()
    run("a", {0: [0, 3, 5], 10: [11, 13, 20]}, which=[10])
    assert (folder / "state0000020.safetensors").exists()
    whole, _ = run("whole", {0: [13, 20]})
    same(whole, folder, [13, 20])


def test_only_the_states_that_are_needed_are_kept(run):
    folder, _ = run("a", CHUNKS, keep_every=2)
    assert sorted(path.name for path in folder.glob("state*")) == [
        "state0000005.safetensors", "state0000020.safetensors",
    ]  # fmt: skip


def losses(folder, start=10):
    return training_losses(folder / f"from{start}.json")


def test_every_segment_keeps_the_loss_of_every_update_so_far(run):
    whole, _ = run("whole", {0: [0, 3, 5, 11, 20]})
    parts, _ = run("parts", CHUNKS)
    every = losses(whole, 0)
    assert (every.shape, every.dtype) == ((20,), np.float32)
    assert np.isfinite(every).all() and len(set(every.tolist())) == 20
    assert np.array_equal(losses(parts), every)
    assert np.array_equal(losses(parts, 0), every[:5])
    contexts = np.random.default_rng(0).integers(0, 10, (40, 6))
    first = shuffled_batches(Examples(contexts), batch_size=4, seed=5)(0)
    at_start = next_token_loss(MODEL)(initial_weights(MODEL, seed=5), first)
    assert every[0] == pytest.approx(float(at_start))


@pytest.mark.parametrize("kill_at", [3, 9, 15, 19])
def test_losses_of_a_killed_training_are_those_of_one_that_was_not(run, kill_at):
    whole, _ = run("whole", CHUNKS)
    with pytest.raises(Killed):
        run("killed", CHUNKS, kill_at=kill_at)
    killed, _ = run("killed", CHUNKS)
    assert np.array_equal(losses(killed), losses(whole))


def test_losses_that_are_lost_are_made_again_without_training(run):
    folder, _ = run("a", CHUNKS)
    before = losses(folder)
    (entry,) = [manifest.read(folder / "from10.json")["training_loss"]]
    (folder / entry["file"]).unlink()
    _, trained = run("a", CHUNKS, which=[10])
    assert trained == []
    assert np.array_equal(losses(folder), before)


def test_losses_that_were_changed_are_refused(run):
    folder, _ = run("a", CHUNKS)
    file = folder / manifest.read(folder / "from10.json")["training_loss"]["file"]
    file.write_bytes(file.read_bytes()[:-4] + b"abcd")
    with pytest.raises(UnreadableResult, match=file.name):
        losses(folder)


def test_manifest_of_imported_checkpoints_has_no_losses(tmp_path):
    manifest.write(tmp_path / "from0.json", model={}, seed=0, checkpoints=[])
    with pytest.raises(ValueError, match=r"from0\.json"):
        training_losses(tmp_path / "from0.json")


def test_a_spoilt_state_is_not_used(run):
    folder, _ = run("a", CHUNKS)
    state = folder / "state0000005.safetensors"
    state.write_bytes(state.read_bytes()[:-50])
    for path in folder.glob("step00000[12]*"):
        path.unlink()
    _, trained = run("a", CHUNKS, which=[10])
    assert trained == list(range(1, 21))


RECIPE = {
    "tokens": "x", "seed": 0, "code": "c", "settings": {"learning_rate": 0.1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("tokens", "y"),
        ("seed", 1),
        ("code", "d"),
        ("settings", {"learning_rate": 0.2}),
        ("settings", {"learning_rate": 0.1, "warmup": 3}),
    ],
)
def test_weights_of_other_data_seed_code_or_settings_are_not_used(tmp_path, field, other):
    def recipe(tokens, settings, **facts):
        blocks = tmp_path / "blocks.json"
        blocks.write_text(json.dumps({"train": {"sha256": tokens}, "held_out": {"sha256": "z"}}))
        segment = Segment(blocks=blocks, previous=None, checkpoints=tmp_path / "from0.json", **facts)
        return segment.recipe(**settings)

    assert recipe(**RECIPE) == recipe(**RECIPE)
    assert recipe(**RECIPE | {field: other}) != recipe(**RECIPE)


def test_foreign_files_named_like_states_are_left_alone(run, tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    names = ("state_of_the_art.safetensors", "state0000004.safetensors", "state.safetensors")
    for name in names:
        (folder / name).write_text("mine")
    run("a", {0: [0, 20]}, keep_every=8)
    assert [(folder / name).read_text() for name in names] == ["mine"] * 3
