"""The small run, made anew for each test."""

import pytest
from tests.claims.heads.small import made


@pytest.fixture
def datasets():
    return made()
