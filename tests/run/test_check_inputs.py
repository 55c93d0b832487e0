"""Files that are not there, or are not what the config says: refused before the first job, with the key."""

import json
import os

import pytest
from refused import refused

from rllc.run.check_inputs import missing_files
from rllc.study.local import tokenizer_files
from rllc.study.reading import read
from rllc.study.texts import files

SIZES = {"n_layers": 2, "n_heads": 2, "d_model": 32, "d_head": 16, "n_ctx": 32}
MODEL = {**SIZES, "positions": "shortformer", "layer_norm": True}
FIELDS = {
    **SIZES, "d_vocab": 300, "attn_only": True, "positional_embedding_type": "shortformer", "normalization_type": "LN",
}  # fmt: skip


@pytest.fixture
def mine(config, tmp_path):
    """The default config with an experiment on checkpoints and a tokenizer of one's own, all sound."""
    for seed in (0, 1):
        folder = tmp_path / f"run{seed}"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(FIELDS))
        for step in (0, 100):
            (folder / f"step_{step}.pt").touch()
    vocabulary(tmp_path / "tokenizer.json", 300)
    config["tokenizers"]["mine"] = {
        "pretrained": str(tmp_path / "tokenizer.json"),
        "vocabulary": 300, "context": 32, "train_blocks": 1, "held_out_blocks": 9,
    }  # fmt: skip
    config["experiments"]["mine"] = {
        "task": "language", "seeds": [0, 1], "tokenizer": "mine", "model": dict(MODEL), "distributions": ["english"],
        "checkpoints": {"source": "import", "path": f"{tmp_path}/run{{seed}}", "chunks": [0]},
    }  # fmt: skip
    return config


def vocabulary(file, size):
    file.write_text(json.dumps({"model": {"type": "WordLevel", "vocab": {f"w{i}": i for i in range(size)}}}))


def problems(config):
    return missing_files(read(config))


def test_what_is_there_is_no_problem(mine, tmp_path):
    assert problems(mine) == []
    vocabulary(tmp_path / "tokenizer.json", 225)  # an embedding padded to a round number
    assert problems(mine) == []


IMPORTS = {
    "another width": ({"d_head": 8}, "experiments.mine.model.d_head: 16, config.json 8, in "),
    "other positions": (
        {"positional_embedding_type": "standard"}, "experiments.mine.model.positions: 'shortformer', config.json 'standard'",
    ),
    "no norms": ({"normalization_type": None}, "experiments.mine.model.layer_norm: True, config.json False"),
    "another eps": ({"eps": 1e-6}, "experiments.mine.model.layer_norm_eps: 1e-05, config.json 1e-06"),
    "another vocabulary": ({"d_vocab": 999}, "tokenizers.mine.vocabulary: 300, config.json 999, in "),
    "rotary": ({"positional_embedding_type": "rotary"}, "experiments.mine.checkpoints.path: the model of "),
    "incomplete": ({"n_ctx": None}, "config.json lacks n_ctx: add them"),
    "of Hugging Face": ({"n_heads": None, "model_type": "gpt2"}, "a Hugging Face checkpoint (model_type 'gpt2')"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), IMPORTS.values(), ids=IMPORTS)
def test_a_model_that_is_another_is_refused(mine, tmp_path, changes, message):
    (tmp_path / "run1" / "config.json").write_text(json.dumps({**FIELDS, **changes}))
    (found,) = problems(mine)
    assert message in found
    assert str(tmp_path / "run1") in found


def test_folders_of_two_seeds_are_compared(mine, tmp_path):
    (tmp_path / "run1" / "step_200.pt").touch()
    (found,) = problems(mine)
    assert found == (
        "experiments.mine.checkpoints.path: seeds 0 and 1 have not the same steps; only one has 200: add or remove files"
    )


def test_one_folder_for_two_seeds_is_refused(mine, tmp_path):
    mine["experiments"]["mine"]["checkpoints"]["path"] = str(tmp_path / "run0")
    assert refused(mine) == [("experiments.mine.checkpoints.path", "contradiction")]
    mine["experiments"]["mine"]["seeds"] = [1]
    assert problems(mine) == []


def test_a_folder_that_is_not_there_is_named(mine, tmp_path):
    mine["experiments"]["mine"]["checkpoints"]["path"] = f"{tmp_path}/none {{seed}}"
    assert [each.partition(": ")[2] for each in problems(mine)] == [
        f"imported checkpoints: there is no folder {tmp_path}/none {seed}" for seed in (0, 1)
    ]


TOKENIZERS = {
    "no file": ("absent.json", None, "pretrained: there is no tokenizer.json at "),
    "no folder": ("absent/", None, "pretrained: there is no tokenizer.json at "),
    "folder without one": (".", None, "pretrained: there is no tokenizer.json at "),
    "empty": ("t.json", b"", "t.json is no tokenizer.json of the library `tokenizers`"),
    "a list": ("t.json", b"[]", "t.json is no tokenizer.json"),
    "another table": ("t.json", b"{}", "t.json is no tokenizer.json"),
    "no tokens": ("t.json", b'{"model": {"vocab": {}}}', "t.json is no tokenizer.json"),
    "ids as text": ("t.json", b'{"model": {"vocab": {"a": "1"}}}', "t.json is no tokenizer.json"),
    "nested": ("t.json", b"[" * 10**5, "t.json is no tokenizer.json"),
    "Latin-1": ("t.json", b"\xe9", "t.json is no tokenizer.json"),
    "less than 3 in 4 of the tokens": (
        "t.json", b'{"model": {"vocab": {"a": 223}}}', "t.json has 224: expected its number",
    ),
    "more tokens": ("t.json", b'{"model": {"vocab": {"a": 300}}}', "vocabulary: 300 tokens, and "),
    "more added": (
        "t.json", b'{"model": {"vocab": [["a", 0.1]]}, "added_tokens": [{"id": 300}]}', "vocabulary: 300 tokens, and ",
    ),
    "no such user": ("~nosuchuser/t.json", None, "pretrained: ~nosuchuser/t.json begins with the name of a user"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), TOKENIZERS.values(), ids=TOKENIZERS)
def test_a_tokenizer_is_refused_with(mine, tmp_path, monkeypatch, name, content, message):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    if content is not None:
        (tmp_path / "empty" / name).write_bytes(content)
    mine["tokenizers"]["mine"]["pretrained"] = name
    (found,) = problems(mine)
    assert found.startswith("tokenizers.mine.")
    assert message in found


def test_a_tokenizer_is_an_input_where_it_is_a_file(mine, tmp_path, monkeypatch):
    def inputs(name):
        mine["tokenizers"]["mine"]["pretrained"] = name
        return tokenizer_files(read(mine).tokenizers["mine"])

    monkeypatch.chdir(tmp_path)
    assert inputs("tokenizer.json") == ["tokenizer.json"]
    assert inputs(str(tmp_path)) == [f"{tmp_path}/tokenizer.json"]
    assert inputs("gpt2") == inputs("EleutherAI/pythia-70m") == []
    assert tokenizer_files(read(mine).tokenizers["bpe"]) == []


def test_a_data_set_is_an_input_where_it_is_a_folder(mine, tmp_path, monkeypatch):
    def entry(name):
        mine["distributions"]["own"] = {"source": "hub", "name": name, "documents": 5, "label": "own"}
        mine["experiments"]["mine"]["distributions"] = ["own"]
        return read(mine)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "set/deep/.cache").mkdir(parents=True)
    for name in ("set/b.jsonl", "set/deep/a.jsonl", "set/.hidden", "set/deep/.cache/x"):
        (tmp_path / name).touch()
    assert files(entry("set").distributions["own"]) == ["set/b.jsonl", "set/deep/a.jsonl"]
    assert files(entry("owner/name").distributions["own"]) == []
    for name in ("./none", "a/b/c", "set/b.jsonl"):
        (found,) = missing_files(entry(name))
        assert found.startswith(f"distributions.own.name: {name} is ")


def test_working_directory_that_is_not_utf8_is_a_problem(mine, tmp_path, monkeypatch):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    monkeypatch.chdir(folder)
    (problem,) = problems(mine)
    assert r"caf\udce9" in problem
