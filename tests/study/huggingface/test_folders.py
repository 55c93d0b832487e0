"""Which folder is which checkpoint: folders of a Trainer, and the cache of the hub in its true form."""

import json

import pytest

from rllc.study.huggingface.folders import input_files, planned_folders, same_config
from rllc.study.huggingface.sections import HuggingFace, HuggingFaceCheckpoints

FIELDS = {"model_type": "gpt_neox", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 8}
COMMITS = {"step0": "0" * 40, "step512": "1" * 40}


def checkpoint(folder, **fields):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(FIELDS | fields))
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def planned(model, *, seed=0, **given):
    model = HuggingFace(family="huggingface", path=model)
    section = HuggingFaceCheckpoints.model_validate({"source": "huggingface", **given})
    return dict(planned_folders(model, section, seed))


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The cache of the hub with two revisions of one model: refs, snapshots and blobs."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    place = tmp_path / "hub/models--EleutherAI--pythia-14m"
    for revision, commit in COMMITS.items():
        snapshot = place / "snapshots" / commit
        snapshot.mkdir(parents=True)
        for name, text in ("config.json", json.dumps(FIELDS)), ("model.safetensors", revision):
            blob = place / "blobs" / f"{revision}-{name}"
            blob.parent.mkdir(exist_ok=True)
            blob.write_text(text)
            (snapshot / name).symlink_to(blob)
        (place / "refs").mkdir(exist_ok=True)
        (place / "refs" / revision).write_text(commit)
    return place


def test_folders_are_found_in_the_order_of_their_steps(tmp_path):
    for step in (1000, 500, 2, 0):
        checkpoint(tmp_path / f"run0/checkpoint-{step}")
    (tmp_path / "run0/checkpoint-07").mkdir()  # no step of a Trainer
    (tmp_path / "run0/checkpoint-9").write_text("a file")
    (tmp_path / "run0/runs").mkdir()
    path = f"{tmp_path}/run{{seed}}/checkpoint-{{step}}"
    assert list(planned(None, path=path)) == [0, 2, 500, 1000]
    assert list(planned(None, path=path, steps=[500, 0])) == [0, 500]


def test_folders_below_a_step_are_found(tmp_path):
    checkpoint(tmp_path / "step7/hf")
    assert planned(None, path=f"{tmp_path}/step{{step}}/hf") == {7: tmp_path / "step7/hf"}


def test_missing_folders_are_named(tmp_path):
    path = f"{tmp_path}/checkpoint-{{step}}"
    with pytest.raises(ValueError, match=r"no folder is named .*checkpoint-\{step\}"):
        planned(None, path=path)
    checkpoint(tmp_path / "checkpoint-0")
    with pytest.raises(ValueError, match=r"there is no folder .*checkpoint-7 "):
        planned(None, path=path, steps=[0, 7])
    with pytest.raises(ValueError, match=r"there is no folder .*absent"):
        planned(None, path=f"{tmp_path}/absent/checkpoint-{{step}}")


def test_one_folder_is_the_checkpoint_of_its_step(tmp_path):
    folder = checkpoint(tmp_path / "smol")
    assert planned(str(folder), steps=[143000]) == {143000: folder}
    assert planned(None, path=str(folder), steps=[3]) == {3: folder}
    assert input_files(folder) == [f"{folder}/config.json", f"{folder}/model.safetensors"]


def test_revisions_are_snapshots_of_the_cache(hub):
    name = "EleutherAI/pythia-14m"
    folders = planned(name, revisions=["step512", "step0"])
    assert folders == {0: hub / "snapshots" / COMMITS["step0"], 512: hub / "snapshots" / COMMITS["step512"]}
    assert planned(name, revisions={9: COMMITS["step0"]}) == {9: hub / "snapshots" / COMMITS["step0"]}


def test_missing_revisions_are_named_with_the_command_that_gets_them(hub):
    (hub / "snapshots" / COMMITS["step512"] / "model.safetensors").unlink()  # an interrupted download
    with pytest.raises(
        ValueError, match=r"lacks step512, step1000 of EleutherAI/pythia-14m .*`snakemake download`"
    ):
        planned("EleutherAI/pythia-14m", revisions=["step0", "step512", "step1000"])


def test_cache_without_names_of_revisions_is_refused_with_its_commits(hub):
    for ref in (hub / "refs").iterdir():
        ref.unlink()
    (hub / "refs").rmdir()
    with pytest.raises(ValueError, match=f"commits {COMMITS['step0']}, .*give a table of steps and commits"):
        planned("EleutherAI/pythia-14m", revisions=["step0"])


def test_revisions_of_a_folder_are_refused(tmp_path):
    with pytest.raises(ValueError, match="revisions are of the hub"):
        planned(str(checkpoint(tmp_path / "mine")), revisions=["step0"])


def test_checkpoints_of_two_models_are_refused_by_the_field(tmp_path):
    one = checkpoint(tmp_path / "a", transformers_version="5.0", rope_theta=1)
    assert (
        same_config([one, checkpoint(tmp_path / "b", transformers_version="5.1", rope_theta=1)])["rope_theta"]
        == 1
    )
    with pytest.raises(ValueError, match=r"rope_theta is 1 in .*a/config.json and 2 in .*c/config.json"):
        same_config([one, checkpoint(tmp_path / "c", rope_theta=2)])
