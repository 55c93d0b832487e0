"""Names of the user's files that a run could not use are refused when the config is read."""

import os
from pathlib import Path

import pytest

from rllc.study.distributions import Files, Hub, TextTokens
from rllc.study.imported import imported_files
from rllc.study.inputs import as_input
from rllc.study.local import data_set_files, tokenizer_files
from rllc.study.texts import files

LATIN = b"caf\xe9"  # é as ISO 8859-1 has it


def write(name: bytes) -> None:
    file = Path(os.fsdecode(name))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("text")


def texts(path):
    return files(Files(source="files", path=path, label="x"))


def data_set(folder):
    return data_set_files(Hub(source="hub", name=f"./{folder}", documents=5, label="x"))


def tokenizer(folder):
    os.environ["HOME"] = str(Path(os.fsdecode(b"home " + LATIN)).resolve())
    settings = {"vocabulary": 300, "context": 8, "train_blocks": 1, "held_out_blocks": 1}
    return tokenizer_files(TextTokens(pretrained=f"~/{folder}", **settings))


@pytest.mark.parametrize(
    ("file", "read"),
    [
        (b"texts/" + LATIN + b".txt", lambda: texts("texts/*.txt")),
        (b"texts/" + LATIN + b"/a.txt", lambda: texts("texts/**/*.txt")),
        (b"data/" + LATIN + b".jsonl", lambda: data_set("data")),
        (b"model/" + LATIN + b"_10.safetensors", lambda: imported_files(Path("model"))),
        (b"home " + LATIN + b"/bpe/tokenizer.json", lambda: tokenizer("bpe")),
    ],
)
def test_name_that_is_not_utf8_is_refused_by_name(tmp_path, monkeypatch, file, read):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    write(file)
    with pytest.raises(ValueError, match=r"caf\\udce9.*not UTF-8") as raised:
        read()
    assert str(raised.value).encode("utf-8")  # so that a terminal can show it


@pytest.mark.parametrize("name", ["é.txt", "中文 \U0001f600.txt", "{not a wildcard", "caf\u00e9/a b.txt"])
def test_other_names_are_inputs(name):
    assert as_input(name) == name
