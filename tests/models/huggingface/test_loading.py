"""Folders of weights in their true formats: what is loaded, and what is refused."""

import json
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_transformers import tiny_model, tokens_of

from rllc.models.huggingface.loading import load
from rllc.models.huggingface.model import HuggingFaceModel


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves a tiny model, and returns it and its folder."""

    def save(name="gpt_neox", *, half=False, **options):
        model = tiny_model(name)
        (model.half() if half else model).save_pretrained(tmp_path, **options)
        return model, tmp_path

    return save


def rewrite(folder, change):
    """Apply ``change`` to the tensors of the one file of weights."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, {"format": "pt"})


def change_config(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def assert_equal(loaded, model):
    own = dict(model.named_parameters())
    for name, weight in loaded.named_parameters():
        assert weight.dtype == torch.float32
        torch.testing.assert_close(weight, own[name].float(), rtol=0, atol=0)
    assert not loaded.training


@pytest.mark.parametrize("name", ["gpt_neox", "gpt2", "llama_groups", "mixtral"])
def test_saved_model_is_loaded(saved, name):
    model, folder = saved(name)
    loaded = load(folder)
    assert_equal(loaded, model)
    assert loaded.config._attn_implementation == "eager"
    HuggingFaceModel(loaded)


def test_loading_shows_no_progress_bar_and_leaves_that_setting_alone(saved, capsys):
    from transformers.utils import logging

    _, folder = saved()
    capsys.readouterr()
    load(folder)
    assert "Loading" not in capsys.readouterr().err
    assert logging.is_progress_bar_enabled()


def test_half_precision_is_loaded_as_float32(saved):
    model, folder = saved(half=True)
    assert load_file(folder / "model.safetensors").popitem()[1].dtype == torch.float16
    assert_equal(load(folder), model)


def test_shards_are_loaded_and_a_lost_one_is_refused_by_name(saved):
    model, folder = saved(max_shard_size="10KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 2
    assert_equal(load(folder), model)
    shards[1].unlink()
    with pytest.raises(ValueError, match=rf"lacks {shards[1].name} of the {len(shards)} shards"):
        load(folder)


def test_old_bin_file_of_pythia_with_its_names_and_buffers_is_loaded(saved):
    model, folder = saved()
    (folder / "model.safetensors").unlink()
    old = {name.replace("lm_head", "embed_out"): weight for name, weight in model.state_dict().items()}
    assert "embed_out.weight" in old
    for layer in range(2):
        attention = f"gpt_neox.layers.{layer}.attention"
        old[f"{attention}.bias"] = torch.ones(1, 1, 32, 32, dtype=torch.uint8)
        old[f"{attention}.masked_bias"] = torch.tensor(-1e9)
        old[f"{attention}.rotary_emb.inv_freq"] = torch.ones(3)
    torch.save(old, folder / "pytorch_model.bin")
    loaded = load(folder)
    assert_equal(loaded, model)
    assert len(HuggingFaceModel(loaded).masks("unembedding")) == 1


@pytest.mark.parametrize(
    ("name", "buffers"),
    [
        ("gpt2", ["transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias"]),
        ("gpt_neo", ["transformer.h.0.attn.attention.bias", "transformer.h.0.attn.attention.masked_bias"]),
        ("gptj", ["transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias"]),
        ("llama", ["model.layers.0.self_attn.rotary_emb.inv_freq"]),
        ("falcon", ["transformer.h.0.self_attention.rotary.inv_freq"]),
    ],
)
def test_buffers_of_old_files_are_accepted(saved, name, buffers):
    model, folder = saved(name)
    rewrite(
        folder,
        lambda tensors: tensors.update({buffer: torch.ones(1, 1, 32, 32).bool() for buffer in buffers}),
    )
    assert_equal(load(folder), model)


def test_missing_tensor_is_refused(saved):
    """transformers fills it with random numbers."""
    _, folder = saved()
    rewrite(folder, lambda tensors: tensors.pop("gpt_neox.layers.1.mlp.dense_h_to_4h.weight"))
    with pytest.raises(
        ValueError, match=r"lacks the weights gpt_neox\.layers\.1\.mlp\.dense_h_to_4h\.weight"
    ):
        load(folder)


def test_tensor_of_another_shape_is_refused(saved):
    _, folder = saved()
    name = "gpt_neox.layers.1.mlp.dense_h_to_4h.bias"
    rewrite(folder, lambda tensors: tensors.update({name: torch.zeros(3)}))
    with pytest.raises(ValueError, match=r"other shapes .*dense_h_to_4h\.bias \[3\] instead of \[40\]"):
        load(folder)


def test_unknown_tensor_is_refused(saved):
    _, folder = saved()
    rewrite(folder, lambda tensors: tensors.update({"score.weight": torch.zeros(2, 24)}))
    with pytest.raises(ValueError, match=r"holds unknown weights score\.weight"):
        load(folder)


def test_compiled_names_are_refused(saved):
    """A state dict of torch.compile: every name has a prefix, so that nothing would be loaded."""
    model, folder = saved()
    save_file({f"_orig_mod.{name}": weight.detach().clone() for name, weight in model.state_dict().items()}, folder / "model.safetensors", {"format": "pt"})  # fmt: skip
    with pytest.raises(ValueError, match="lacks the weights"):
        load(folder)


def test_files_of_a_trainer_beside_the_weights_are_not_read(saved):
    model, folder = saved()
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin"):
        (folder / name).write_bytes(b"no file that torch can read")
    (folder / "trainer_state.json").write_text("{}")
    assert_equal(load(folder), model)


def test_checkpoints_that_a_trainer_left_are_loaded(tmp_path):
    from transformers import Trainer, TrainingArguments

    model = tiny_model("gpt2").train()
    rows = [{"input_ids": row, "labels": row} for row in tokens_of(model, 4)]
    arguments = TrainingArguments(
        tmp_path, max_steps=2, save_steps=1, per_device_train_batch_size=2, report_to=[], use_cpu=True,
        disable_tqdm=True, logging_strategy="no",
    )  # fmt: skip
    Trainer(model=model, args=arguments, train_dataset=rows).train()
    folders = sorted(tmp_path.glob("checkpoint-*"))
    assert [folder.name for folder in folders] == ["checkpoint-1", "checkpoint-2"]
    assert (folders[1] / "optimizer.pt").is_file()
    assert_equal(load(folders[1]), model)


def test_lora_folder_is_refused(saved):
    _, folder = saved()
    (folder / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "base_model_name_or_path": "x"})
    )
    with pytest.raises(ValueError, match=r"LoRA adapter .*merge_and_unload"):
        load(folder)


def test_quantised_weights_are_refused_by_the_config_and_by_what_is_stored(saved):
    _, folder = saved()
    name = "gpt_neox.layers.0.mlp.dense_h_to_4h.weight"
    rewrite(folder, lambda tensors: tensors.update({name: tensors[name].to(torch.int8)}))
    with pytest.raises(ValueError, match=r"quantised weights, .*dense_h_to_4h\.weight \(I8\)"):
        load(folder)
    change_config(folder, quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True})
    with pytest.raises(ValueError, match=r"quantised weights \(quantization_config"):
        load(folder)


def test_quantised_bin_file_is_refused(saved):
    model, folder = saved()
    (folder / "model.safetensors").unlink()
    weights = model.state_dict()
    name = "gpt_neox.layers.0.mlp.dense_h_to_4h.weight"
    torch.save(weights | {name: weights[name].to(torch.float8_e4m3fn)}, folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"quantised weights, .*float8"):
        load(folder)


def test_model_with_code_of_its_own_is_refused_and_its_code_not_run(saved):
    _, folder = saved()
    (folder / "modeling_own.py").write_text("raise SystemExit('the code was run')")
    own = {"AutoConfig": "modeling_own.Config", "AutoModelForCausalLM": "modeling_own.Model"}
    change_config(folder, model_type="own", auto_map=own)
    with pytest.raises(
        ValueError, match=r"'own' needs code of its own \(trust_remote_code\), which is not run"
    ):
        load(folder)
    change_config(folder, model_type="gpt_neox")
    assert_equal(load(folder), tiny_model("gpt_neox"))


def test_unknown_architecture_is_refused(saved):
    _, folder = saved()
    change_config(folder, model_type="own")
    with pytest.raises(ValueError, match="'own' is unknown to the installed transformers"):
        load(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_folder_without_config_or_weights_is_refused(saved, name):
    _, folder = saved()
    (folder / name).unlink()
    with pytest.raises(ValueError, match=r"has no (config\.json|weights)"):
        load(folder)


def test_truncated_file_is_refused_with_the_folder(saved):
    _, folder = saved()
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(folder)


def test_error_without_transformers_says_how_to_install_it(saved, monkeypatch):
    _, folder = saved()
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"pip install rllc\[huggingface\]"):
        load(folder)
