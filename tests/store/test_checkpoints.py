import pickle

import pytest
import torch

from rllc.models.initial import initial_weights
from rllc.models.transformer import Architecture, shapes
from rllc.store.checkpoints import (
    CheckpointError,
    intact,
    load,
    read_metadata,
    save,
)

MODEL = Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=6, d_vocab=10)
ABOUT = {"model": {**MODEL.__dict__}, "step": 7, "seed": 3}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "runs" / "step7.safetensors"
    save(initial_weights(MODEL, seed=3), path, ABOUT)
    return path


def test_what_is_saved_is_loaded(saved):
    path = saved
    for weights in (load(path), load(path, shapes(MODEL))):
        expected = initial_weights(MODEL, seed=3)
        assert weights.keys() == expected.keys()
        assert all(torch.equal(weights[name], expected[name]) for name in expected)
    metadata = read_metadata(path)
    assert (metadata["step"], metadata["seed"]) == (7, 3)
    assert Architecture(**metadata["model"]) == MODEL


def test_tensors_come_in_one_order(saved):
    """Sums over all of them depend on it."""
    orders = {tuple(load(saved)) for _ in range(20)}
    assert orders == {tuple(sorted(initial_weights(MODEL, seed=3)))}


def test_equal_weights_give_equal_bytes_and_nothing_else_is_left(saved, tmp_path):
    path = saved
    again = tmp_path / "again" / path.name
    weights = dict(reversed(initial_weights(MODEL, seed=3).items()))
    save(weights, again, ABOUT)
    assert again.read_bytes() == path.read_bytes()
    assert [file.name for file in again.parent.iterdir()] == [path.name]


def test_floats_become_float32_and_integers_stay(tmp_path):
    path = tmp_path / "a.safetensors"
    strided = torch.arange(6, dtype=torch.float64).reshape(2, 3).T.requires_grad_()
    save({"x": strided, "half": torch.ones(2).half(), "step": torch.tensor(2**40 + 1)}, path, {})
    tensors = load(path)
    assert tensors["x"].dtype == tensors["half"].dtype == torch.float32
    assert tensors["x"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert tensors["step"].item() == 2**40 + 1


def test_a_failed_write_leaves_what_was_there(saved, monkeypatch):
    path = saved
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        save({"x": torch.ones(3)}, path, {})
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("content", [b"", b"junk", pickle.dumps({"x": 1})])
def test_files_that_are_not_safetensors_are_refused(tmp_path, content):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    for read in (load, read_metadata):
        with pytest.raises(CheckpointError, match=f"{path} is no sound safetensors file"):
            read(path)


def test_a_flipped_bit_is_noticed_without_a_manifest(saved):
    assert intact(saved)
    content = bytearray(saved.read_bytes())
    content[-3] ^= 1
    saved.write_bytes(bytes(content))
    assert not intact(saved)


def test_tensors_of_another_shape_are_not_those_that_were_saved(saved, tmp_path):
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(saved, framework="pt") as file:
        header = file.metadata()
    tensors = load(saved)
    save_file(tensors, tmp_path / "same.safetensors", header)
    assert intact(tmp_path / "same.safetensors")
    flat = {name: tensor.flatten() for name, tensor in tensors.items()}
    save_file(flat, tmp_path / "flat.safetensors", header)
    assert not intact(tmp_path / "flat.safetensors")


def test_another_models_weights_are_refused(saved):
    path = saved
    wider = Architecture(**{**MODEL.__dict__, "d_vocab": 11})
    with pytest.raises(
        CheckpointError, match=r"embed.W_E is \[10, 8\] instead of \[11, 8\].*make the file again"
    ):
        load(path, shapes(wider))
    deeper = Architecture(**{**MODEL.__dict__, "n_layers": 2})
    with pytest.raises(CheckpointError, match=r"blocks.1.ln1.w is missing; .* and 5 more"):
        load(path, shapes(deeper))
    bare = Architecture(**{**MODEL.__dict__, "layer_norm": False})
    with pytest.raises(CheckpointError, match=r"ln_final\.w is unknown"):
        load(path, shapes(bare))


def test_metadata_of_a_foreign_file(tmp_path):
    from safetensors.torch import save_file

    save_file({"x": torch.ones(2)}, tmp_path / "x.safetensors")
    with pytest.raises(CheckpointError, match="was not written by rllc"):
        read_metadata(tmp_path / "x.safetensors")
