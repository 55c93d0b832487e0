"""Measures and analyses are found by where their files are."""

import subprocess
import sys
from pathlib import Path

import pytest

import rllc
from rllc.study.discovery import PATTERNS, modules
from rllc.study.study import Experiment
from rllc.study.table import ANALYSES, MEASURES

FOLDERS = sorted(path.parent for path in (Path(rllc.__file__).parent / "measures").glob("*/__init__.py"))


@pytest.mark.parametrize("kind", PATTERNS)
def test_modules_are_found_by_their_files_in_sorted_order(tmp_path, kind):
    files = {
        "measures": ["measures/b/spec.py", "measures/a/spec.py", "measures/a/kernel.py", "measures/spec.py"],
        "analyses": [
            "study/analyses/b.py",
            "study/analyses/a.py",
            "study/analyses/__init__.py",
            "study/c.py",
        ],
    }
    for file in files[kind]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    expected = {
        "measures": ("rllc.measures.a.spec", "rllc.measures.b.spec"),
        "analyses": ("rllc.study.analyses.a", "rllc.study.analyses.b"),
    }
    assert modules(kind, package=tmp_path) == expected[kind]


def test_every_folder_of_measures_holds_the_row_of_its_name_whose_kernel_is_there():
    assert [spec.name for spec in MEASURES] == [folder.name for folder in FOLDERS]
    for spec, folder in zip(MEASURES, FOLDERS, strict=True):
        module, _, function = spec.kernel.partition(":")
        assert module == f"rllc.measures.{folder.name}.kernel"
        assert f"\ndef {function}(" in (folder / "kernel.py").read_text()


def test_names_of_rows_are_unique():
    names = [spec.name for spec in (*MEASURES, *ANALYSES)]
    assert len({*names}) == len(names)


def test_every_row_with_a_section_is_a_key_of_an_experiment():
    for spec in (*MEASURES, *ANALYSES):
        if spec.section:
            assert Experiment.model_fields[spec.name].annotation == spec.section | None, spec.name


def test_the_table_is_read_without_torch():
    code = "import sys, rllc.study.table; print({'torch', 'xarray', 'scipy'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"
