import json

import pytest

from rllc.tasks.language.files import documents


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my texts" / "deep").mkdir(parents=True)
    (tmp_path / "my texts" / 'b\'s "quote".md').write_text("second é", encoding="utf-8")
    (tmp_path / "my texts" / "a.txt").write_text("first", encoding="utf-8")
    (tmp_path / "my texts" / "deep" / "c.txt").write_text("\ufeffthird", encoding="utf-8")
    lines = [{"body": "one"}, {"body": "two\u2028lines"}]
    (tmp_path / "rows.jsonl").write_text(
        "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n\n", encoding="utf-8"
    )
    return tmp_path


def test_files_come_in_the_order_of_their_names_each_once(folder):
    found = list(documents(path=["my texts/**/*", "my texts/a.txt"]))
    assert [d.name for d in found] == ["my texts/a.txt", 'my texts/b\'s "quote".md', "my texts/deep/c.txt"]
    assert [d.text for d in found] == ["first", "second é", "third"]


def test_an_absolute_path_leaves_no_trace_in_a_name(folder):
    assert [d.name for d in documents(path=f"{folder}/my texts/**/*.txt")] == ["a.txt", "deep/c.txt"]
    assert [d.name for d in documents(path=str(folder / "my texts" / "a.txt"))] == ["a.txt"]


def test_a_file_may_be_named_like_a_glob(folder):
    (folder / "[x].txt").write_text("literal", encoding="utf-8")
    assert [d.text for d in documents(path="[x].txt")] == ["literal"]


def test_each_line_of_json_lines_is_a_document(folder):
    found = list(documents(path="*.jsonl", field="body"))
    assert [tuple(d) for d in found] == [("one", "rows.jsonl:1"), ("two\u2028lines", "rows.jsonl:2")]


@pytest.mark.parametrize(
    ("path", "field", "message"),
    [
        ("nothing/*.txt", None, "no file matches 'nothing/\\*.txt'"),
        (["my texts/a.txt", "absent.txt"], None, "no file matches 'absent.txt'"),
        ([], None, "empty list"),
        ("my texts", None, "is a folder"),
        ("rows.jsonl", None, "rows.jsonl has JSON lines: say in `field`"),
        ("rows.jsonl", "text", r"rows.jsonl, line 1, has no text in 'text'; its keys are \['body'\]"),
    ],
)
def test_what_cannot_be_read_is_refused(folder, path, field, message):
    with pytest.raises(ValueError, match=message):
        list(documents(path=path, field=field))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"body": "x"}\nnot json\n', "line 2, is not JSON"),
        (b'{"body": "x"}\n["list"]\n', "line 2, is not a JSON object"),
        (b'{"body": 3}\n', "line 1, has no text"),
        (b"\xff\xfe", "bad.jsonl is not UTF-8 text"),
    ],
)
def test_a_bad_file_is_named(folder, content, message):
    (folder / "bad.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(documents(path="bad.jsonl", field="body"))
