"""Configs that must be refused: by which key, and what kind of problem. Wording is nobody's test."""

from typing import Any

import pytest

from rllc.study.reading import read
from rllc.study.section import ConfigError


def refused(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Return key and kind of every problem of a config, which must have one."""
    with pytest.raises(ConfigError) as caught:
        read(config)
    return [(problem.key, problem.kind) for problem in caught.value.problems]
