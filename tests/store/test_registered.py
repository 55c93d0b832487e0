"""Checkpoints of Hugging Face that stay where they are: recorded, read again, refused where they changed."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_transformers import tiny_model

from rllc.models.huggingface.model import HuggingFaceModel
from rllc.store.checkpoints import CheckpointError
from rllc.store.registered import check_finite, entry_of, registered_weights
from rllc.store.weights_of_entry import weights_of_entry


@pytest.fixture
def saved(tmp_path):
    def save(**options):
        module = tiny_model("gpt_neox")
        module.save_pretrained(tmp_path, **options)
        return module, tmp_path

    return save


@pytest.mark.parametrize("options", [{}, {"max_shard_size": "20KB"}], ids=["one file", "shards"])
def test_weights_of_an_entry_are_those_of_the_files(saved, options):
    module, folder = saved(**options)
    entry = entry_of(folder, 7)
    assert (entry["step"], entry["folder"], entry["dtypes"], entry["commit"]) == (7, str(folder), ["F32"], "")
    assert (len(entry["files"]) > 1) == bool(options)
    weights = weights_of_entry(folder / "from0.json", entry, HuggingFaceModel(module))
    for name, weight in module.named_parameters():
        torch.testing.assert_close(weights[name], weight.detach(), rtol=0, atol=0)


def test_digest_of_an_entry_is_of_the_weights_alone(saved):
    _, folder = saved()
    before = entry_of(folder, 0)["sha256"]
    (folder / "optimizer.pt").write_bytes(b"never read")
    assert entry_of(folder, 5)["sha256"] == before
    change(folder, lambda tensor: tensor + 1)
    assert entry_of(folder, 0)["sha256"] != before


def change(folder, function):
    file = folder / "model.safetensors"
    tensors = load_file(file)
    first = sorted(tensors)[0]
    save_file(tensors | {first: function(tensors[first])}, file, {"format": "pt"})


def test_files_that_changed_since_are_refused_by_name(saved):
    _, folder = saved()
    entry = entry_of(folder, 0)
    change(folder, lambda tensor: tensor + 1)
    with pytest.raises(CheckpointError, match=r"model\.safetensors has changed since it was registered"):
        registered_weights(entry)
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="has no weights"):
        registered_weights(entry)


def test_files_of_another_kind_since_are_refused(saved):
    _, folder = saved()
    entry = entry_of(folder, 0)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(
        CheckpointError, match=r"holds the weights pytorch_model\.bin, and held model\.safetensors"
    ):
        registered_weights(entry)


def test_weights_of_another_shape_than_the_study_are_refused(saved):
    _, folder = saved()
    other = HuggingFaceModel(tiny_model("gpt_neox", hidden_size=16))
    with pytest.raises(CheckpointError, match=str(folder)):
        weights_of_entry(folder / "from0.json", entry_of(folder, 0), other)


def test_weights_that_are_not_finite_are_refused_by_name(tmp_path):
    with pytest.raises(CheckpointError, match="w is NaN or infinite in 1 of 2 values"):
        check_finite({"v": torch.ones(2), "w": torch.tensor([1.0, float("nan")])}, tmp_path)
