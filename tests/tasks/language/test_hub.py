import gzip
import json
import os
import subprocess
import sys

import datasets
import lockless
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


def rows(folder, values, column="topic"):
    lines = [json.dumps({"text": f"text {i}", column: value}) for i, value in enumerate(values)]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("streaming", [False, True])
def test_only_rows_whose_field_matches_are_read(folder, streaming):
    """Counted by hand: of six rows three have a category of the kind, as text among others."""
    rows(folder, ["math.AG", "cs.LG stat.ML", "hep-th math.GT", "astro-ph", "math-ph", "cs.CL math.CO"])
    where = {"field": "topic", "matches": r"(^|\s)math\."}
    settings = {"name": str(folder), "streaming": streaming, "where": where}
    found = list(documents(**settings))
    assert [tuple(d) for d in found] == [(f"text {i}", f"my data/train/{i}") for i in (0, 2, 5)]
    assert list(documents(**settings, documents=2)) == found[:2]
    every = {"field": "topic", "matches": r"^(hep-|astro-ph|math-ph)"}
    assert len(list(documents(**settings | {"where": every}))) == 3


def test_one_of_a_list_of_texts_may_match(folder):
    rows(folder, [["cs.LG", "math.ST"], ["cs.LG"], []])
    found = documents(name=str(folder), where={"field": "topic", "matches": r"^math\."})
    assert [d.name for d in found] == ["my data/train/0"]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            {"field": "subject", "matches": "math"},
            r"row 0 of data set .* has neither text nor a list of texts in 'subject' \(where.field\); it has "
            r"\['text', 'topic'\]",
        ),
        (
            {"field": "topic", "matches": "biology"},
            "no row of data set .* has 'biology' in 'topic': correct `where`",
        ),
    ],
)
def test_a_filter_that_lets_nothing_through_is_refused(folder, where, message):
    rows(folder, ["math.AG", "cs.LG"])
    with pytest.raises(ValueError, match=message):
        list(documents(name=str(folder), where=where))
    rows(folder, [1, 2])
    with pytest.raises(ValueError, match="neither text nor a list of texts in 'topic'"):
        list(documents(name=str(folder), where={"field": "topic", "matches": "1"}))


def replaced(file, text):
    """Replace a file as an archive that unpacks with fixed times does."""
    status = file.stat() if file.exists() else None
    file.write_text(text) if isinstance(text, str) else file.write_bytes(text)
    if status:
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def line(text):
    return json.dumps({"text": text}) + "\n"


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("packed", [str.encode, lambda text: gzip.compress(text.encode())])
def test_file_replaced_with_its_time_kept_is_read_anew(folder, packed, streaming):
    """The cache of ``datasets`` knows files by their names and times; packed ones are also unpacked into one."""
    file = folder / ("train.jsonl" if packed is str.encode else "train.jsonl.gz")
    (folder / "train.jsonl").unlink()
    for text in ("first", "other"):
        replaced(file, packed(line(text)))
        found = [each.text for each in documents(name=str(folder), streaming=streaming)]
        assert found == [text]


def test_nothing_of_a_local_folder_stays_in_the_cache(folder, tmp_path):
    list(documents(name=str(folder), field="body"))
    with pytest.raises(ValueError, match="has no text"):
        list(documents(name=str(folder), field="other"))
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.suffix in (".arrow", ".json")]


READ = """
import sys
from rllc.tasks.language.hub import documents
try:
    print(len(list(documents(name=sys.argv[1]))))
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("number", [37, 95, 524])
def test_cache_on_file_system_without_locks_is_said(tmp_path, number):
    (tmp_path / "rows.jsonl").write_text('{"text": "one"}\n')
    variables = lockless.variables(number) | {"HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", READ, str(tmp_path)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "1" or ("no locks" in done.stdout and "HF_HOME" in done.stdout), done.stdout
