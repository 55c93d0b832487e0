"""Which file of a folder is which step, by its name alone; and which folders are of another kind of model."""

import json
from pathlib import Path

import pytest

from rllc.study.imported import imported_files, planned_files

SIZES = {"n_layers": 2, "n_heads": 3, "d_model": 12, "d_head": 4, "n_ctx": 9, "d_vocab": 17}
OURS = {**SIZES, "attn_only": True}
GPT2 = {
    "architectures": ["GPT2LMHeadModel"],
    "model_type": "gpt2",
    "n_layer": 12,
    "n_head": 12,
    "n_ctx": 1024,
}
NEOX = {"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "hidden_size": 512}


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["model_100.pt", "model_20.safetensors", "config.json", "notes.txt"], [20, 100]),
        (["L2W12-step_00300.pth"], [300]),
        (["checkpoint-500.pt", "checkpoint-0.pt"], [0, 500]),  # a hyphen, not a minus
        (["10-final.pt"], [10]),
        (["seed0.step7.PT", "seed0.step8.SafeTensors"], [7, 8]),
        (["._step_5.pt", "step_5.pt", ".step_6.pt"], [5]),  # what macOS and editors leave behind
        (["a { of\nmine 12 µ.pt"], [12]),
        (["step_100k5.pt"], [5]),
    ],
)
def test_steps_are_read_off_the_names(tmp_path, names, steps):
    for name in names:
        (tmp_path / name).write_text(json.dumps(OURS) if name == "config.json" else "")
    assert list(imported_files(tmp_path)) == steps


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no checkpoint in"),
        (["config.json", "step_5.bin", "step_5.ckpt"], "ending in .safetensors, .pt, .pth"),
        (["final.pt"], "no step in the name of"),
        (["step_².pt"], "no step in the name of"),
        (["a_20.pt", "b_20.safetensors"], "are both step 20: keep one of them"),
        (["step_20.pt", "step_020.pt"], "are both step 20: keep one of them"),
        (["step_1.5.pt"], "is no whole number up to 2^53: rename it, as in step_1000.pt"),
        (["step_1e5.pt"], "is no whole number"),
        (["step_1,000.pt"], "is no whole number"),
        (["step_10k.pt"], "is no whole number"),
        (["step_10k_final.pt"], "is no whole number"),
        ([f"step_{2**53 + 1}.pt"], "is no whole number"),
        (["a {b} 1.pt"], "has a name in braces, which Snakemake takes for a wildcard: rename it"),
        (["step_1-00001-of-00002.safetensors"], "is one of several shards"),
    ],
)
def test_names_that_could_be_misread_are_refused(tmp_path, names, message):
    for name in names:
        (tmp_path / name).write_text(json.dumps(OURS) if name == "config.json" else "")
    with pytest.raises(ValueError) as caught:
        imported_files(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def fill(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content) if isinstance(content, dict) else content)


FOREIGN = {
    "Hugging Face": ({"config.json": GPT2, "model.safetensors": "", "tokenizer.json": "{}"}, ["gpt2"]),
    "pickled": ({"config.json": NEOX, "pytorch_model.bin": ""}, ["gpt_neox"]),
    "Trainer": (
        {f"checkpoint-{n}/{file}": content for n in (500, 1000) for file, content in
         {"config.json": GPT2, "model.safetensors": "", "optimizer.pt": ""}.items()},
        ["gpt2", "checkpoint-1000"],
    ),
    "Trainer with the last model": (
        {"config.json": GPT2, "model.safetensors": "", "training_args.bin": "", "checkpoint-500/config.json": GPT2},
        ["gpt2"],
    ),
    "cache of the hub": ({"snapshots/abc/config.json": NEOX, "refs/main": "abc"}, ["gpt_neox", "snapshots"]),
    "a step in the name": ({"config.json": NEOX, "step_100.pt": ""}, ["gpt_neox"]),
    "PEFT": ({"adapter_config.json": {"base_model_name_or_path": "gpt2"}, "adapter_model.safetensors": ""}, ["PEFT"]),
    "no config": ({"model.safetensors": "", "tokenizer.json": "{}"}, ["Hugging Face", "model.safetensors"]),
    "shards, no config": ({"model-00001-of-00002.safetensors": ""}, ["Hugging Face"]),
    "MLPs": ({"config.json": {**SIZES, "attn_only": False, "d_mlp": 48}, "final.pt": ""}, ["attn_only", "MLPs"]),
    "MLPs, not said": ({"config.json": {**SIZES, "d_mlp": 48}, "final.pt": ""}, ["attn_only"]),
    "rotary": ({"config.json": {**OURS, "positional_embedding_type": "rotary"}, "last.pt": ""}, ["rotary"]),
}  # fmt: skip


@pytest.mark.parametrize(("files", "named"), FOREIGN.values(), ids=FOREIGN)
def test_folder_of_another_kind_is_named_before_its_file_names(tmp_path, files, named):
    fill(tmp_path, files)
    with pytest.raises(ValueError) as caught:
        imported_files(tmp_path)
    said = str(caught.value)
    assert all(word in said for word in [*named, str(tmp_path)])
    assert "rename" not in said and "no step" not in said


def test_a_tokenizer_beside_the_checkpoints_is_no_other_kind_of_model(tmp_path):
    fill(
        tmp_path, {"config.json": OURS, "step_1.pt": "", "tokenizer/config.json": GPT2, "vocab/model.bin": ""}
    )
    assert list(imported_files(tmp_path)) == [1]


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        imported_files(tmp_path / "none")
    (tmp_path / "step_1.pt").mkdir()
    with pytest.raises(ValueError, match=r"step_1.pt is a folder: expected the file of one state dict"):
        imported_files(tmp_path)
    (tmp_path / "step_0.pt").symlink_to("step_0.pt")
    with pytest.raises(ValueError, match=r"step_0.pt is a link to a file that is not there"):
        imported_files(tmp_path)
    with pytest.raises(ValueError, match="is no folder"):
        imported_files(Path(__file__))


def test_a_plan_looks_into_a_folder_once(tmp_path):
    (tmp_path / "step_1.pt").touch()
    assert list(planned_files(tmp_path, "attention_only")) == [1]
    (tmp_path / "step_2.pt").touch()
    assert list(planned_files(tmp_path, "attention_only")) == [1]
