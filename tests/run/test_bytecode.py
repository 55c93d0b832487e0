"""Python's own cache of compiled sources, which is keyed by size and time."""

import os
import subprocess
import sys

import pytest

from rllc.run.bytecode import check_by_content


@pytest.fixture
def package(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "src/p").mkdir(parents=True)
    (tmp_path / "src/p/__init__.py").touch()
    (tmp_path / "src/p/module.py").write_text("VALUE = 1\n")
    return tmp_path / "src"


def replace(package, value):
    """Another source of the same size and time."""
    file = package / "p/module.py"
    status = file.stat()
    file.write_text(f"VALUE = {value}\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def value(package):
    code = "import p.module; print(p.module.VALUE)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=package, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_python_alone_runs_the_old_source(package):
    """If this fails, Python itself has mended it, and the module can go."""
    assert value(package) == 1
    replace(package, 2)
    assert value(package) == 1


def test_replaced_source_with_its_time_kept_is_what_runs(package):
    assert value(package) == 1
    replace(package, 2)
    check_by_content(package)
    assert value(package) == 2
    replace(package, 3)
    assert value(package) == 3


def test_source_that_is_no_python_is_left_to_its_import(package, capfd):
    (package / "p/module.py").write_text("VALUE = (\n")
    check_by_content(package)
    assert capfd.readouterr().err == ""


def test_compiled_files_are_written_once(package):
    check_by_content(package)
    compiled = list(package.rglob("*.pyc"))
    before = [file.stat().st_mtime_ns for file in compiled]
    check_by_content(package)
    assert [file.stat().st_mtime_ns for file in compiled] == before
    assert len(compiled) == 2


def test_none_is_written_where_python_is_told_not_to(package, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    check_by_content(package)
    assert not list(package.rglob("*.pyc"))
    assert value(package) == 1
    replace(package, 2)
    check_by_content(package)
    assert value(package) == 2
