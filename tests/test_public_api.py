"""The names of ``rllc``: each has an example that runs, and is imported without what it does not need."""

import ast
import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import rllc

SOURCE = Path(rllc.__file__)
# What the library does without: packages of the extras.
EXTRAS = (
    "snakemake", "matplotlib", "pydantic", "yaml", "tqdm", "netCDF4", "safetensors", "tokenizers", "pyarrow", "datasets",
    "transformers", "transformer_lens", "sklearn", "tslearn",
)  # fmt: skip
BLOCKED = f"""
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in {EXTRAS!r} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


def run(code, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", rllc.__all__)
def test_every_public_name_has_an_example_that_runs(name):
    found = [
        test for test in doctest.DocTestFinder(recurse=False).find(getattr(rllc, name), name) if test.examples
    ]
    assert found, f"rllc.{name} has no example in its docstring"
    failures = []
    for test in found:
        doctest.DocTestRunner(verbose=False).run(test, out=failures.append)
    assert failures == []


def test_names_for_type_checkers_are_those_that_are_imported():
    tree = ast.parse(SOURCE.read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    stated = {(alias.asname, node.module) for node in block.body for alias in node.names}
    assert stated == set(rllc._MODULES.items())
    assert set(rllc.__all__) <= set(dir(rllc))
    with pytest.raises(AttributeError, match="nothing"):
        _ = rllc.nothing


def test_import_of_the_package_alone_brings_no_torch():
    assert run("import rllc, sys; print('torch' in sys.modules, 'numpy' in sys.modules)").split() == [
        "False",
        "False",
    ]


def test_public_names_are_imported_without_packages_of_the_extras():
    run(BLOCKED + "import rllc\nfor name in rllc.__all__:\n    getattr(rllc, name)")


def test_example_on_an_own_model_runs_without_packages_of_the_extras():
    example = SOURCE.parents[2] / "examples/own_model.py"
    printed = run(BLOCKED + "import runpy\nrunpy.run_path(sys.argv[1], run_name='__main__')", str(example))
    assert "full" in printed


def test_measure_that_needs_a_package_of_the_workflow_says_which_and_how_to_install_it():
    code = """
from rllc.measures import by_name
import rllc
assert {"hessian", "ngrams"} <= set(by_name.names())
model = rllc.AttentionOnly(rllc.Architecture(1, 1, 4, 2, 8, 5))
try:
    rllc.measure("ngrams", model, model.initial_weights(seed=0), [])
except ImportError as error:
    print(error)
"""
    assert "rllc[workflow]" in run(BLOCKED + code)
