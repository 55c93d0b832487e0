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


@pytest.fixture
def chunked(config):
    """The same with the language model's checkpoints in two chunks, from 0 and from 1250."""
    config["experiments"]["language"]["checkpoints"]["chunks"] = [0, 1250]
    return config
