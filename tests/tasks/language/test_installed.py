import ast
import hashlib
import importlib
import importlib.metadata
from pathlib import Path

import pytest

from rllc.tasks.language.installed import documents, english_paragraphs, without_docstrings

SOURCE = '''"""Module."""  # remark
import os


def one(): "doc"; return 1


class Two:
    """Only a docstring,
    on two lines.
    """


async def three():
    """First."""
    "not a docstring"
    if True:
        def é(x="é"): """alone"""
    return lambda: """kept"""
'''
EXPECTED = """import os


def one(): pass; return 1


class Two:
    pass


async def three():
    "not a docstring"
    if True:
        def é(x="é"): pass
    return lambda: \"\"\"kept\"\"\"
"""


def without(tree: ast.Module) -> str:
    """Docstrings taken out of the tree rather than the text."""
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or ([] if isinstance(node, ast.Module) else [ast.Pass()])
    return ast.dump(tree)


def test_docstrings_leave_and_nothing_else_does():
    assert without_docstrings(SOURCE) == EXPECTED
    assert without_docstrings(SOURCE.replace("\n", "\r\n")) == EXPECTED
    assert without_docstrings('"""Only a docstring."""\n') == ""
    assert without_docstrings("def broken(:") is None


@pytest.mark.parametrize("module", ["argparse", "dataclasses", "typing", "enum", "doctest"])
def test_the_syntax_tree_of_real_modules_loses_only_docstrings(module):
    source = Path(importlib.import_module(module).__file__).read_text(encoding="utf-8")
    assert ast.dump(ast.parse(without_docstrings(source))) == without(ast.parse(source))


def test_a_paragraph_of_english_is_long_and_made_of_letters():
    sentence = (
        "A paragraph that is long enough to count, since it\n  goes on for more than eighty characters."
    )
    text = f"Short.\n\n{sentence}\n \n>>> {'x = f(1) + [2]; ' * 9}\n\n{'word ' * 16}"
    assert list(english_paragraphs(text)) == [" ".join(sentence.split())]
    for digits, counted in ((7, True), (8, False)):
        assert bool(list(english_paragraphs("a" * (100 - digits) + "1" * digits))) == counted


@pytest.mark.parametrize("kind", ["code", "prose"])
def test_a_smaller_size_is_a_prefix_and_names_are_sorted_by_hash(kind):
    settings = {"kind": kind, "packages": ["stdlib", "numpy", "packaging"]}
    small, large = (list(documents(**settings, megabytes=mb)) for mb in (0.1, 0.25))
    assert large[: len(small)] == small
    size = sum(len(d.text.encode()) for d in small)
    assert 0.1e6 <= size < 0.1e6 + len(small[-1].text.encode()) + 1
    files = [d.name.split(":")[0] for d in large]
    assert files == sorted(files, key=lambda name: hashlib.sha256(name.encode()).digest())
    assert {name.split("/")[0] for name in files} <= {"stdlib", "numpy", "packaging"}
    assert not any("/tests/" in name or "/site-packages/" in name or "test_" in name for name in files)


def test_every_paragraph_of_prose_is_given_once():
    found = [
        p for d in documents(kind="prose", packages=["numpy"], megabytes=0.2) for p in d.text.split("\n\n")
    ]
    assert len(found) == len(set(found)) > 100
    assert all(len(paragraph) >= 80 for paragraph in found)


def test_the_whole_text_of_a_small_package():
    found = {d.name: d.text for d in documents(kind="code", packages=["iniconfig"], megabytes=1)}
    recorded = importlib.metadata.distribution("iniconfig")
    assert set(found) == {
        f"iniconfig/{f}" for f in recorded.files if f.suffix == ".py" and not f.name.endswith("_version.py")
    }
    for name, text in found.items():
        source = recorded.locate_file(name.removeprefix("iniconfig/")).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(text)) == without(ast.parse(source))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed distribution called sample, of which sample/a.py, b.py and guide.md are its own text."""
    sentence = "This paragraph is written in plain English words, and it has more than eighty characters."
    files = {
        "sample/a.py": "a = 1\n",
        "sample/b.py": f'"""{sentence}\n\nShort."""\nb = "é"\n',
        "sample/guide.md": f"# Guide\n\n{sentence}\n\nAnd a second one: {sentence}\n",
        "sample/equal.py": "a = 1\n",
        "sample/broken.py": "def broken(:\n",
        "sample/tests/helper.py": "c = 3\n",
        "sample/_vendor/other.py": "d = 4\n",
        "sample/test_a.py": "e = 5\n",
        "sample/_version.py": "f = 6\n",
        "sample-1.2.dist-info/licenses/notes.md": sentence + " It is not the text of the package.",
        "sample-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: sample\nVersion: 1.2\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "sample/latin.py").write_bytes("g = 'é'\n".encode("latin-1"))
    listed = [*files, "sample/latin.py", "sample/removed.py", "../../bin/sample.py"]
    (tmp_path / "sample-1.2.dist-info/RECORD").write_text("".join(f"{name},,\n" for name in listed))
    monkeypatch.syspath_prepend(tmp_path)
    return sentence


def test_a_package_gives_its_own_readable_files_and_no_others(package):
    code = [d.text for d in documents(kind="code", packages=["sample"], megabytes=1)]
    assert sorted(code) == ["a = 1\n", 'b = "é"\n']
    prose = [d.text for d in documents(kind="prose", packages=["sample"], megabytes=1)]
    assert sorted("\n\n".join(prose).split("\n\n")) == [f"And a second one: {package}", package]


def test_a_package_that_lists_no_files_is_refused(package, tmp_path):
    (tmp_path / "sample-1.2.dist-info/RECORD").unlink()
    with pytest.raises(ValueError, match="package 'sample' has no list of its files"):
        documents(kind="code", packages=["sample"], megabytes=1)


def test_headers_come_as_they_are():
    found = list(documents(kind="headers", packages=["numpy"], megabytes=0.02))
    numpy = importlib.metadata.distribution("numpy")
    for document in found:
        assert document.name.endswith((".h", ".hpp"))
        assert document.text == numpy.locate_file(document.name.removeprefix("numpy/")).read_text()


def test_headers_that_a_program_wrote_or_that_repeat_another_are_left_out(package, tmp_path):
    lines = [f"int function_{i}(double first, double second);" for i in range(10)]
    other = [f"struct Record{i} {{ unsigned long field; }};" for i in range(5)]
    headers = {
        "generated.h": "// @generated by a script\nint only_here(int a, int b, int c);\n",
        "first.h": "\n".join(lines),
        "core.h": "\n".join(["  " + line for line in lines[:6]] + other[:4]),
        "original.h": "\n".join(lines[:5] + [line.replace("function", "operator") for line in lines[:5]]),
    }
    for name, text in headers.items():
        (tmp_path / "sample" / name).write_text(text)
    with (tmp_path / "sample-1.2.dist-info/RECORD").open("a") as record:
        record.writelines(f"sample/{name},,\n" for name in headers)
    found = [d.name.split("/")[-1] for d in documents(kind="headers", packages=["sample"], megabytes=1)]
    assert found == ["first.h", "original.h"]  # in this order; core.h, by its hash, is the last


def test_cython_and_licences_come_as_they_are_and_nothing_else_does(package, tmp_path):
    terms = "Permission is hereby granted, free of charge, to any person obtaining a copy.\n" * 3
    own = {
        f"sample/_fast.{end}": f"cdef int number_{end}(double argument):\n" for end in ("pyx", "pxd", "pxi")
    }
    licences = {
        "sample-1.2.dist-info/licenses/LICENSE": terms,
        "sample/_vendor/COPYING.txt": "Everyone is permitted to copy and distribute verbatim copies.\n",
        "sample/NOTICE": f"{terms}",  # the same once more
        "sample-1.2.dist-info/licenses/vendored/LICENCE.md": f"Copyright of somebody else, of 2020.\n{terms}",
    }
    others = {"sample/license.py": "x = 1\n", "sample/tests/_slow.pyx": "cdef int tested(double argument):\n"}
    for name, text in (own | licences | others).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with (tmp_path / "sample-1.2.dist-info/RECORD").open("a") as record:
        record.writelines(f"{name},,\n" for name in own | licences | others)
    found = {d.name: d.text for d in documents(kind="cython", packages=["sample"], megabytes=1)}
    assert found == {f"sample/{name}": text for name, text in own.items()}
    texts = [d.text for d in documents(kind="licences", packages=["sample"], megabytes=1)]
    assert sum("Permission is hereby granted" in text for text in texts) == 1  # each licence once
    assert licences["sample/_vendor/COPYING.txt"] in texts and len(texts) == 2


def test_the_language_reference_is_one_document_per_topic():
    names = [d.name for d in documents(kind="prose", packages=["stdlib"], megabytes=50)]
    assert "stdlib/pydoc_data/topics.py:assignment" in names
    assert "stdlib/pydoc_data/topics.py" not in names


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "poetry"}, "unknown kind 'poetry'"),
        ({"megabytes": 0}, "megabytes is 0"),
        ({"packages": []}, "packages is"),
        ({"packages": "numpy"}, "packages is 'numpy'"),
        ({"packages": ["no-such-package-here"]}, "'no-such-package-here' is not installed"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        documents(**{"kind": "code", "packages": ["numpy"], "megabytes": 1, **settings})


BLOCKS = """if a:
    pass
else:
    {}
try:
    pass
except ValueError:
    {}
finally:
    {}
match a:
    case 1:
        {}
for b in a:
    with b:
        {}
"""


def test_docstrings_are_found_in_every_kind_of_block():
    """Of a function in an else, a handler, a finally, a case and a with in a loop."""
    with_them = BLOCKS.format(*['def f(): "said"; return 1'] * 5)
    assert without_docstrings(with_them) == BLOCKS.format(*["def f(): pass; return 1"] * 5)
