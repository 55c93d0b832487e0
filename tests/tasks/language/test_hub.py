import json
import os
import subprocess
import sys

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rllc.tasks.language.hub import documents


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    here = tmp_path / "my data"
    here.mkdir()
    lines = [json.dumps({"body": f"text {i}", "other": i}) for i in range(5)]
    (here / "train.jsonl").write_text("\n".join(lines) + "\n")
    return here


@pytest.mark.parametrize("streaming", [False, True])
def test_rows_of_a_local_folder_become_documents(folder, streaming):
    found = list(documents(name=str(folder), field="body", streaming=streaming))
    assert [tuple(d) for d in found] == [(f"text {i}", f"my data/train/{i}") for i in range(5)]
    capped = list(documents(name=str(folder), field="body", streaming=streaming, documents=2))
    assert capped == found[:2]


def test_parquet_is_read_too(folder):
    (folder / "train.jsonl").unlink()
    pq.write_table(pa.table({"text": ["a", "b"]}), folder / "test.parquet")
    found = list(documents(name=str(folder), split="test", streaming=True))
    assert [tuple(d) for d in found] == [("a", "my data/test/0"), ("b", "my data/test/1")]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"field": "text"},
            r"row 0 of data set .* has no text in 'text'; its columns are \['body', 'other'\]",
        ),
        ({"field": "other"}, "has no text in 'other'"),
        ({"split": "validation"}, "could not be loaded .*validation"),
        ({"config": "absent"}, "could not be loaded .*absent"),
        ({"documents": 0}, "documents is 0"),
    ],
)
def test_what_is_not_there_is_refused(folder, streaming, settings, message):
    with pytest.raises(ValueError, match=message):
        list(documents(**{"name": str(folder), "field": "body", "streaming": streaming, **settings}))


def test_a_broken_file_is_refused_where_the_stream_meets_it(folder):
    (folder / "train.jsonl").write_text("not json")
    with pytest.raises(ValueError, match="could not be loaded"):
        list(documents(name=str(folder), field="body", streaming=True))


def test_without_a_network_the_error_names_the_data_set_and_a_way_out(tmp_path):
    code = "from rllc.tasks.language.hub import documents; next(documents(name='no-such-owner/no-such-data'))"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "ValueError: data set 'no-such-owner/no-such-data' could not be loaded" in result.stderr
    assert "use a source `files` or `installed`" in result.stderr
