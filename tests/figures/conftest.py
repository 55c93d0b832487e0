import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("synthetic", Path(__file__).with_name("synthetic.py"))
synthetic = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(synthetic)


@pytest.fixture(scope="session")
def make_study():
    return synthetic.study


@pytest.fixture(scope="session")
def study():
    return synthetic.study()
