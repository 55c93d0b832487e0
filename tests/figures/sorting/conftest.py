"""A small run of sorting transformers with two heads."""

import pytest


@pytest.fixture(scope="module")
def two(sorting):
    return sorting.study()
