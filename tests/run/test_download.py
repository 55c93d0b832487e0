"""Downloads from a server that speaks the hub's protocol, by the package huggingface_hub itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hub_server import Hub, serving, sha256
from tiny_transformers import tiny_model

ROOT = Path(__file__).parents[2]
NAME = "EleutherAI/pythia-14m"
BESIDE = ("optimizer.pt", "flax_model.msgpack", "tf_model.h5", "model.onnx", "README.md", "pytorch_model.bin")
CALL = """
import json, sys
from pathlib import Path
from rllc.run.download import download, write_record
from rllc.run.hub_errors import DownloadError
from rllc.study.huggingface.wanted import Wanted
given, dry, record = json.loads(sys.argv[1]), sys.argv[2] == "dry", Path(sys.argv[3])
wanted = [Wanted(*each) for each in given]
try:
    download(wanted, dry=dry, say=print)
    if not dry:
        write_record(wanted, record)
except DownloadError as error:
    sys.exit(f"DownloadError: {error}")
"""


def model(folder, *, seed, **options):
    """Save a tiny model with the files that a repository of the hub may hold beside it."""
    tiny_model("gpt_neox", seed=seed).save_pretrained(folder, **options)
    for name in BESIDE:
        (folder / name).write_bytes(b"must not be fetched")
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"a": 0}}}))
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("hub")
    return {
        "step0": model(place / "a", seed=0),
        "step512": model(place / "b", seed=1),
        "step1000": model(place / "c", seed=2, max_shard_size="10KB"),
    }


@pytest.fixture
def hub(folders):
    with serving(Hub({NAME: folders | {"main": folders["step512"]}})) as found:
        yield found


@pytest.fixture
def call(hub, tmp_path):
    """Return a function that downloads in a process of its own, as the environment is read once."""

    def call(*wanted, dry=False, **variables):
        own = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        own |= {
            "HF_ENDPOINT": hub.address,
            "HF_HOME": str(tmp_path / "home"),
            "PYTHONPATH": str(ROOT / "src"),
        }
        given = [
            sys.executable,
            "-c",
            CALL,
            json.dumps(wanted),
            "dry" if dry else "",
            str(tmp_path / "got.json"),
        ]
        done = subprocess.run(given, env=own | variables, capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        print(done.stdout, done.stderr)
        return done.stdout + done.stderr

    return call


def revision(name, repository=NAME):
    return (repository, name, "experiments.pythia", True)


def recorded(tmp_path):
    return json.loads((tmp_path / "got.json").read_text())


def test_revisions_are_fetched_and_recorded_with_commit_size_and_digest(call, hub, folders, tmp_path):
    said = call(revision("step0"), revision("step512"))
    assert f"{NAME} step512 (2 of 2): commit {hub.commit(NAME, 'step512')}" in said
    own = ["model.safetensors", "model.safetensors"]  # the two revisions share their other files
    assert sorted(hub.fetched()) == ["config.json", *own, "tokenizer.json"]
    for name in ("step0", "step512"):
        own = recorded(tmp_path)[NAME][name]
        assert own["commit"] == hub.commit(NAME, name)
        assert own["files"] == {
            file: {"bytes": (folders[name] / file).stat().st_size, "sha256": sha256(folders[name] / file)}
            for file in ("config.json", "model.safetensors", "tokenizer.json")
        }


def test_second_download_asks_for_nothing(call, hub, tmp_path):
    call(revision("step0"))
    first = recorded(tmp_path)
    hub.requests.clear()
    assert "0 of 1 revisions fetched" in call(revision("step0"), HF_ENDPOINT="http://127.0.0.1:9")
    assert hub.requests == []
    assert recorded(tmp_path) == first


def test_shards_are_those_of_the_index(call, hub, folders, tmp_path):
    call(revision("step1000"))
    shards = sorted(file.name for file in folders["step1000"].glob("model-*.safetensors"))
    assert len(shards) > 2
    files = recorded(tmp_path)[NAME]["step1000"]["files"]
    assert sorted(files) == sorted(["config.json", "tokenizer.json", "model.safetensors.index.json", *shards])
    assert not set(hub.fetched()) & set(BESIDE)


def test_interrupted_download_is_completed(call, hub, folders, tmp_path):
    call(revision("step1000"))
    lost = next((tmp_path / "home").rglob("snapshots/*/model-00002*"))
    lost.resolve().unlink()
    lost.unlink()
    hub.requests.clear()
    call(revision("step1000"))
    assert hub.fetched() == [lost.name]


def test_missing_revisions_are_all_named_before_anything_is_fetched(call, hub, tmp_path):
    said = call(revision("step0"), revision("step7"), revision("step9"))
    assert f"{NAME} has no revision step7" in said
    assert f"{NAME} has no revision step9" in said
    assert hub.fetched() == []
    assert not (tmp_path / "got.json").exists()


def test_tokenizer_alone_is_fetched_from_the_main_branch(call, hub, tmp_path):
    call((NAME, "main", "tokenizers.mine.pretrained", False))
    assert hub.fetched() == ["tokenizer.json"]
    assert list(recorded(tmp_path)[NAME]["main"]["files"]) == ["tokenizer.json"]


def test_bin_file_is_fetched_where_there_is_no_safetensors(call, hub, folders, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("config.json", "pytorch_model.bin", "optimizer.pt"):
        (bare / name).write_bytes((folders["step0"] / name).read_bytes())
    hub.repositories["owner/old"] = {"step0": bare}
    call(revision("step0", "owner/old"))
    assert sorted(hub.fetched()) == ["config.json", "pytorch_model.bin"]


@pytest.mark.parametrize(
    ("name", "lacks"), [("config.json", "no config.json"), ("model.safetensors", "no weights")]
)
def test_repository_that_is_no_model_is_refused(call, hub, folders, tmp_path, name, lacks):
    bare = tmp_path / "bare"
    bare.mkdir()
    for file in {"config.json", "model.safetensors"} - {name}:
        (bare / file).write_bytes((folders["step0"] / file).read_bytes())
    hub.repositories["owner/other"] = {"step0": bare}
    assert lacks in call(revision("step0", "owner/other"))
    assert hub.fetched() == []


def test_damaged_file_is_removed_and_fetched_again(call, hub, folders):
    hub.damaged.add("model.safetensors")
    assert "model.safetensors of EleutherAI/pythia-14m step0 was damaged" in call(revision("step0"))
    hub.damaged.clear()
    assert "1 of 1 revisions fetched" in call(revision("step0"))


def test_gated_model_says_to_log_in(call, hub):
    hub.gated = (NAME,)
    said = call(revision("step0"))
    assert f"experiments.pythia: {NAME} step0 cannot be fetched: the model is gated" in said
    assert "hf auth login" in said


def test_unknown_model_is_named(call):
    assert "nobody/nothing step0 cannot be fetched: the hub has no such model" in call(
        revision("step0", "nobody/nothing")
    )


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "http://127.0.0.1:9 cannot be reached"),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set"),
    ],
)
def test_without_a_network_repository_and_revision_are_named(call, variables, reason):
    said = call(revision("step512"), **variables)
    assert f"{NAME} step512 cannot be fetched" in said
    assert reason in said


def test_dry_run_says_what_is_absent_and_asks_for_nothing(call, hub, tmp_path):
    assert f"would fetch {NAME} step0" in call(revision("step0"), dry=True)
    assert hub.requests == []
    assert not (tmp_path / "got.json").exists()
