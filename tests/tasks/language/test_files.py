import gzip
import json
import re
import tracemalloc

import pytest

from rllc.tasks.language.documents import collect
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


def test_only_lines_whose_field_matches_are_read(folder):
    lines = [
        {"body": str(n), "kind": kind} for n, kind in enumerate(["note", "letter", "a note", ["x", "note"]])
    ]
    (folder / "kinds.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    found = documents(path="kinds.jsonl", field="body", where={"field": "kind", "matches": "note$"})
    assert [tuple(d) for d in found] == [(n, f"kinds.jsonl:{int(n) + 1}") for n in "023"]
    with pytest.raises(ValueError, match=r"no row of kinds.jsonl has '\^note\$' in 'body': correct `where`"):
        list(documents(path="kinds.jsonl", field="body", where={"field": "body", "matches": "^note$"}))
    with pytest.raises(
        ValueError, match=r"kinds.jsonl, line 1, has neither text nor .* 'sort' .*\['body', 'kind'\]"
    ):
        list(documents(path="kinds.jsonl", field="body", where={"field": "sort", "matches": "."}))
    with pytest.raises(ValueError, match=r"`where` needs .jsonl files, and my texts/a.txt is not one"):
        list(
            documents(
                path=["kinds.jsonl", "my texts/a.txt"], field="body", where={"field": "kind", "matches": "."}
            )
        )


@pytest.mark.parametrize(
    ("path", "field", "message"),
    [
        ("nothing/*.txt", None, "no file matches 'nothing/\\*.txt'"),
        (["my texts/a.txt", "absent.txt"], None, "no file matches 'absent.txt'"),
        ([], None, "empty list"),
        ("my texts", None, "is a folder"),
        ("my texts/a.txt", "body", "`field` is given, and none of my texts/a.txt is a .jsonl file"),
        ("rows.jsonl", None, "rows.jsonl has JSON lines: set `field`"),
        ("rows.jsonl", "text", r"rows.jsonl, line 1, has no text in 'text'; its keys are \['body'\]"),
    ],
)
def test_what_cannot_be_read_is_refused(folder, path, field, message):
    with pytest.raises(ValueError, match=message):
        list(documents(path=path, field=field))


PROSE = "Ein Haus."
READ = {
    "empty": (b"", ""),
    "one byte": (b"a", "a"),
    "with a byte order mark": (b"\xef\xbb\xbfa", "a"),
    "a byte order mark alone": (b"\xef\xbb\xbf", ""),
    "white space": (b" \n\t\n", " \n\t\n"),
    "lines of Windows": (b"a\r\nb\r\n", "a\nb\n"),
    "lines of an old Macintosh": (b"a\rb", "a\nb"),
    "one huge line": (b"word " * 400_000, "word " * 400_000),
    "emoji": ("a \U0001f469\u200d\U0001f680 b".encode(), "a \U0001f469\u200d\U0001f680 b"),
    "right to left": ("שלום עולם مرحبا".encode(), "שלום עולם مرحبا"),
    "combining marks": ("e\u0301".encode(), "e\u0301"),
    "line separators": ("a\u2028b\x0cc\x85".encode(), "a\u2028b\x0cc\x85"),
    "other control characters": (b"a\x1b[0m\x07", "a\x1b[0m\x07"),
}
REFUSED = {
    "UTF-16": (PROSE.encode("utf-16"), "is not UTF-8 text (byte 0): convert it to UTF-8 or leave it out"),
    "UTF-16 without its mark": (
        PROSE.encode("utf-16-le"),
        "is not text (a NUL at character 1: binary, or UTF-16)",
    ),
    "UTF-32": (PROSE.encode("utf-32"), "is not UTF-8 text (byte 0)"),
    "Latin-1": ("caf\xe9".encode("latin-1"), "is not UTF-8 text (byte 3)"),
    "of Windows": ("“quoted”".encode("cp1252"), "is not UTF-8 text (byte 0)"),
    "Shift-JIS": ("日本".encode("shift-jis"), "is not UTF-8 text (byte 0)"),
    "NUL bytes": (b"some\x00text", "is not text (a NUL at character 4"),
    "zeros": (bytes(100), "is not text (a NUL at character 0"),
    "gzip": (gzip.compress(b"text", mtime=0), "is not UTF-8 text (byte 1)"),
    "PNG": (b"\x89PNG\r\n\x1a\n", "is not UTF-8 text (byte 0)"),
    "zip": (b"PK\x03\x04\x14\x00\x06\x00", "is not text (a NUL"),
    "cut within a character": ("é".encode()[:1], "is not UTF-8 text (byte 0)"),
    "half a surrogate pair": (b"\xed\xa0\x80", "is not UTF-8 text (byte 0)"),
    "an overlong form": (b"\xc0\x80", "is not UTF-8 text (byte 0)"),
}
LINES = {
    "one": (b'{"body": "x"}', ["x"]),
    "blank lines between": (b'\n{"body": "x"}\n \n{"body": "y"}\n', ["x", "y"]),
    "lines of Windows": (b'{"body": "x"}\r\n{"body": "y"}\r\n', ["x", "y"]),
    "with a byte order mark": (b'\xef\xbb\xbf{"body": "x"}', ["x"]),
    "half a surrogate pair": (b'{"body": "\\ud800"}', ["\ud800"]),
    "an escaped NUL": (b'{"body": "a\\u0000"}', ["a\0"]),
}
BAD_LINES = {
    "no JSON": (b'{"body": "x"}\nnot json\n', ", line 2, is not JSON"),
    "cut short": (b'{"body": "x"}\n{"body": "y', ", line 2, is not JSON (Unterminated string"),
    "a list": (b'{"body": "x"}\n["list"]\n', ", line 2, is not a JSON object"),
    "a number": (b'{"body": 3}\n', ", line 1, has no text in 'body'; its keys are ['body']"),
    "another key": (b'{"text": "x"}\n', ", line 1, has no text in 'body'; its keys are ['text']"),
    "nested 100,000 deep": (b"[" * 10**5, ", line 1, is not JSON (maximum recursion depth"),
    "a number of 9,999 digits": (
        b'{"body": ' + b"9" * 9999 + b"}",
        ", line 1, is not JSON (Exceeds the limit",
    ),
    "UTF-16": (b"\xff\xfe", " is not UTF-8 text"),
    "NUL": (b"\0", " is not text (a NUL"),
    "two on a line": (b'{"body": "x"} {"body": "y"}', ", line 1, is not JSON (Extra data)"),
}


@pytest.mark.parametrize(("content", "text"), READ.values(), ids=READ)
def test_a_file_is_read_as(folder, content, text):
    (folder / "own.txt").write_bytes(content)
    assert [d.text for d in documents(path="own.txt")] == [text]


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_a_file_is_refused_with(folder, content, message):
    (folder / "own.txt").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(f"own.txt {message}")):
        list(documents(path="own.txt"))


@pytest.mark.parametrize("name", ["bad.jsonl", "bad.JSONL"])
@pytest.mark.parametrize(("content", "texts"), LINES.values(), ids=LINES)
def test_lines_are_read_as(folder, content, texts, name):
    (folder / name).write_bytes(content)
    assert [d.text for d in documents(path=name, field="body")] == texts


@pytest.mark.parametrize(("content", "message"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_named(folder, content, message):
    (folder / "bad.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(f"bad.jsonl{message}")):
        list(documents(path="bad.jsonl", field="body"))


def test_a_file_that_cannot_be_read_is_named():
    with pytest.raises(
        ValueError, match=r"/proc/self/mem cannot be read \(Input/output error\): make it readable"
    ):
        list(documents(path="/proc/self/mem"))


def test_names_may_be_odd(folder):
    names = {"a {b}\nc.md", " .md", "-rf.md", "é \U0001f600.md"}
    for name in names:
        (folder / "my texts" / "deep" / name).write_text(name, encoding="utf-8")
    assert {d.name.removeprefix("my texts/deep/") for d in documents(path="my texts/deep/*.md")} == names


CORPORA = {
    "five tiny files": ([b"a", b"b", b"c", b"d", b"e"], 5),
    "copies": ([b"a", b"a", b"b", b"c", b"a\n"], 4),
    "one empty": ([b"", b" \n", b"a", b"b", b"c"], 3),
    "surrogates": ([b'{"body": "a\\ud800"}\n{"body": "b"}\n{"body": "g"}'], 3),
    "all empty": ([b"", b" "], "the source yielded no text: every document was empty"),
    "one": ([b"a"], "is held out at held_out_fraction 0.5"),
    "copies of one": ([b"a", b"a", b"a"], "is held out at held_out_fraction 0.5|are held out at"),
}


@pytest.mark.parametrize(("contents", "expected"), CORPORA.values(), ids=CORPORA)
def test_small_corpora_have_two_sides_or_are_refused(folder, contents, expected):
    lines = contents[0].startswith(b"{")
    suffix = "jsonl" if lines else "tex"
    for number, content in enumerate(contents):
        (folder / f"{number}.{suffix}").write_bytes(content)
    found = documents(path=f"[0-9].{suffix}", field="body" if lines else None)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            collect(found, held_out_fraction=0.5)
        return
    table = collect(found, held_out_fraction=0.5)
    assert table.num_rows == expected
    assert 0 < sum(table["held_out"].to_pylist()) < expected
    assert ("a?" in table["text"].to_pylist()) == lines


def test_lines_are_read_one_by_one(tmp_path):
    """A file of JSON lines may be larger than memory."""
    line = json.dumps({"body": "word " * 200}) + "\n"
    (tmp_path / "large.jsonl").write_text(line * 10_000)
    found = documents(path=str(tmp_path / "large.jsonl"), field="body")
    tracemalloc.start()
    try:
        assert sum(len(each.text) for each in found) == 10_000 * 1000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
