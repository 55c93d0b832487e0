import copy
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def _default():
    return yaml.safe_load((ROOT / "config/config.yaml").read_text())


@pytest.fixture
def config(_default):
    """The default config, to be changed."""
    return copy.deepcopy(_default)
