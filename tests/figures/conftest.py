import importlib.util
import shutil
from pathlib import Path

import pytest


def _beside(name):
    """A module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


synthetic = _beside("synthetic")


@pytest.fixture(scope="session")
def make_study():
    return synthetic.study


@pytest.fixture(scope="session")
def study():
    return synthetic.study()


@pytest.fixture(scope="session")
def sorting():
    """Makers of synthetic datasets of sorting transformers."""
    return _beside("synthetic_sorting")


@pytest.fixture(scope="session")
def misplaced():
    """Finds texts that stick out of a figure or overlap."""
    return _beside("test_figures").misplaced


@pytest.fixture(scope="session")
def browser():
    """The program of a real browser without a window."""
    program = shutil.which("chromium-headless-shell")
    if program is None:
        pytest.skip("the page is not tested in a browser: install Debian's chromium-headless-shell")
    return program
