"""The script that registers checkpoints of Hugging Face, on folders in their true formats."""

import json
import pickle
import runpy
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_transformers import tiny_model

from rllc.huggingface_files import config_fields
from rllc.job_settings.checkpoints import RegisterCheckpoints
from rllc.models.huggingface.build import model as built
from rllc.store.checkpoints import CheckpointError
from rllc.store.weights_of_entry import weights_of_entry

SCRIPT = Path(__file__).parents[2] / "workflow/scripts/register_checkpoints.py"
BESIDE = ("optimizer.pt", "scheduler.pt", "training_args.bin", "rng_state.pth")


@pytest.fixture
def register(tmp_path):
    """Return a function that registers folders, by step, and returns the entries of the manifest."""
    main = runpy.run_path(str(SCRIPT))["main"]

    def register(folders):
        facts = {"family": "huggingface", "config": config_fields(next(iter(folders.values())))}
        settings = RegisterCheckpoints(folders, facts, heads=8, components=["mlp:0", "unembedding"])
        manifest = tmp_path / "manifest.json"
        main(settings=settings, seed=0, checkpoints=manifest)
        return json.loads(manifest.read_text())["checkpoints"]

    return register


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves a tiny model in a folder."""

    def saved(name="checkpoint-0", *, seed=0, half=False, **options):
        module = tiny_model("gpt_neox", seed=seed)
        (module.half() if half else module).save_pretrained(tmp_path / name, **options)
        return module.float(), tmp_path / name

    return saved


def assert_registered(entry, module, tmp_path):
    """Check that the weights that a measure reads by an entry are those of a module."""
    model = built(config=config_fields(Path(entry["folder"])))
    weights = weights_of_entry(tmp_path / "manifest.json", entry, model)
    for name, weight in module.named_parameters():
        torch.testing.assert_close(weights[name], weight.detach(), rtol=0, atol=0)


class Trap:
    """An object whose pickle makes a file when it is read."""

    def __init__(self, file):
        self.file = str(file)

    def __reduce__(self):
        return open, (self.file, "w")


def test_pickles_of_a_trainer_beside_the_weights_are_not_run(saved, register, tmp_path):
    trap = tmp_path / "the pickle was read"
    module, folder = saved()
    for name in BESIDE:
        (folder / name).write_bytes(pickle.dumps(Trap(trap)))
    (entry,) = register({0: folder})
    assert list(entry["files"]) == ["model.safetensors"]
    assert not trap.exists()
    with pytest.raises(OSError):
        pickle.loads(pickle.dumps(Trap(tmp_path / "absent/file")))  # the trap would work
    assert_registered(entry, module, tmp_path)


def test_pickle_in_the_place_of_weights_is_refused_and_not_run(saved, register, tmp_path):
    trap = tmp_path / "the pickle was read"
    _, folder = saved()
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Trap(trap)}, folder / "pytorch_model.bin")
    with pytest.raises((CheckpointError, ValueError, pickle.UnpicklingError)):
        register({0: folder})
    assert not trap.exists()


def test_shards_of_float16_are_registered_and_read_as_float32(saved, register, tmp_path):
    module, folder = saved(half=True, max_shard_size="10KB")
    (entry,) = register({0: folder})
    assert len(entry["files"]) > 2
    assert entry["dtypes"] == ["F16"]
    assert_registered(entry, module, tmp_path)


def test_lost_shard_is_named(saved, register):
    _, folder = saved(max_shard_size="10KB")
    lost = sorted(folder.glob("model-*.safetensors"))[1]
    lost.unlink()
    with pytest.raises(ValueError, match=f"lacks {lost.name}"):
        register({0: folder})


def test_old_bin_files_of_pythia_are_registered(saved, register, tmp_path):
    module, folder = saved()
    (folder / "model.safetensors").unlink()
    old = {name.replace("lm_head", "embed_out"): weight for name, weight in module.state_dict().items()}
    assert "embed_out.weight" in old
    for layer in range(2):
        attention = f"gpt_neox.layers.{layer}.attention"
        old[f"{attention}.bias"] = torch.ones(1, 1, 32, 32, dtype=torch.bool)
        old[f"{attention}.masked_bias"] = torch.tensor(-1e9)
        old[f"{attention}.rotary_emb.inv_freq"] = torch.ones(3)
    torch.save(old, folder / "pytorch_model.bin")
    (entry,) = register({0: folder})
    assert list(entry["files"]) == ["pytorch_model.bin"]
    assert_registered(entry, module, tmp_path)


def test_adapter_of_lora_is_refused(saved, register):
    _, folder = saved()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    with pytest.raises(ValueError, match="LoRA adapter"):
        register({0: folder})


def test_quantised_weights_of_a_later_step_are_refused(saved, register):
    _, first = saved()
    _, folder = saved("checkpoint-1")
    file = folder / "model.safetensors"
    tensors, name = load_file(file), "gpt_neox.layers.0.mlp.dense_h_to_4h.weight"
    save_file(tensors | {name: tensors[name].to(torch.int8)}, file, {"format": "pt"})
    with pytest.raises(CheckpointError, match=r"checkpoint-1 holds quantised weights, .*\(I8\)"):
        register({0: first, 1: folder})


def test_snapshot_of_a_cache_without_refs_is_registered_with_its_commit(saved, register, tmp_path):
    module, folder = saved()
    snapshot = tmp_path / f"models--owner--name/snapshots/{'a' * 40}"
    snapshot.mkdir(parents=True)
    for file in folder.iterdir():
        blob = tmp_path / "models--owner--name/blobs" / file.name
        blob.parent.mkdir(exist_ok=True)
        file.rename(blob)
        (snapshot / blob.name).symlink_to(blob)
    (entry,) = register({0: snapshot})
    assert entry["commit"] == "a" * 40
    assert_registered(entry, module, tmp_path)


def test_component_that_the_model_lacks_is_refused_before_weights_are_read(saved, tmp_path):
    _, folder = saved()
    main = runpy.run_path(str(SCRIPT))["main"]
    facts = {"family": "huggingface", "config": config_fields(folder)}
    with pytest.raises(ValueError, match="mlp:7"):
        main(settings=RegisterCheckpoints({0: folder}, facts, heads=8, components=["mlp:7"]), seed=0,
             checkpoints=tmp_path / "manifest.json")  # fmt: skip
    assert not (tmp_path / "manifest.json").exists()
