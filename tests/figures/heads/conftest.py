"""The synthetic study with two seeds."""

import pytest
from tests.figures.heads.small import SEEDS


@pytest.fixture(scope="module")
def two(make_study):
    return make_study(seeds=SEEDS)
