"""The user's function that builds a module: which files count, and names that lead nowhere."""

import sys
from pathlib import Path

import pytest
import tokenizers

from rllc.module_source import imported, locate, source_digest, source_files


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Files of a user, who works in this folder."""
    files = {
        "mine.py": "import os\nimport torch\nfrom layers import block\nfrom lib.parts import attention\n\n"
        "def build(**options):\n    from late import late\n    return block, options\n",
        "layers.py": "block = 'block'\n",
        "late.py": "late = 1\n",
        "other.py": "unused = 1\n",
        "lib/__init__.py": "",
        "lib/parts.py": "from . import deep\nfrom .deep import x as attention\n",
        "lib/deep.py": "x = 1\n",
        "lib/alone.py": "def build():\n    pass\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    kept = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - kept:
        del sys.modules[name]


def names(build, folder):
    return sorted(str(file.relative_to(folder.resolve())) for file in source_files(build))


def test_files_of_function_are_its_own_imports_at_any_depth(repository):
    of_mine = ["late.py", "layers.py", "lib/__init__.py", "lib/deep.py", "lib/parts.py", "mine.py"]
    assert names("mine.py:build", repository) == of_mine
    assert names(f"{repository}/mine.py:build", repository) == of_mine
    assert names("mine:build", repository) == of_mine
    assert names("lib.alone:build", repository) == ["lib/__init__.py", "lib/alone.py"]


def test_digest_changes_with_files_that_are_imported_alone(repository):
    before = source_digest("mine.py:build")
    (repository / "other.py").write_text("unused = 2\n")
    (repository / "mine.py").touch()
    assert source_digest("mine.py:build") == before
    (repository / "lib/deep.py").write_text("x = 2\n")
    assert source_digest("mine.py:build") != before


def test_function_of_installed_package_is_found_with_the_modules_of_its_package():
    files = source_files(
        "tokenizers.tools:Annotation"
    )  # an installed package, which imports the standard library
    package = Path(tokenizers.__file__).parent.resolve()
    assert package / "tools" / "visualizer.py" in files
    assert all(package in file.parents for file in files)
    assert locate("tokenizers.tools:EncodingVisualizer").package == "tokenizers"


def test_function_is_imported_with_its_neighbours_and_leaves_no_trace(repository):
    path = [*sys.path]
    with imported("mine.py:build") as (build, _):
        assert build(a=1) == ("block", {"a": 1})
    assert sys.path == path
    assert not list(repository.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        ("mine.py", "names no function: expected file.py:function"),
        ("none.py:build", "there is no Python file none.py"),
        ("lib.none:build", "there is no Python module lib.none"),
        ("none.at.all:build", "there is no Python module none.at.all"),
        ("torch._C:build", "there is no Python module torch._C"),
        ("mine.py:biuld", "has no function biuld.*did you mean build"),
        ("lib:build", "has no function build"),
    ],
)
def test_name_that_leads_to_no_function_is_refused(repository, build, message):
    with pytest.raises(ValueError, match=message):
        source_files(build)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def build(:\n", "is no Python source"),
        ("import missing_package\ndef build():\n    pass\n", "cannot be imported: ModuleNotFoundError"),
        ("build = 3\n", "is no function"),
    ],
)
def test_file_that_cannot_be_imported_is_refused(repository, text, message):
    (repository / "mine.py").write_text(text)
    with pytest.raises(ValueError, match=message), imported("mine.py:build"):
        pass
