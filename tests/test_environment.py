"""The environment that `make env` builds."""

from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["snakemake.workflow", "pandas", "torch", "xarray"])
def test_packages_are_compiled(name):
    """Else every job compiles them anew, where PYTHONDONTWRITEBYTECODE is set."""
    assert Path(find_spec(name).cached).is_file()
