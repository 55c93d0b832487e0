"""Configs that must be refused: by which key, and what kind of problem. No test pins the wording."""

from typing import Any

import pytest

from rllc.study.config_model import ConfigError
from rllc.study.reading import read


def refusal(config: dict[str, Any]) -> ConfigError:
    """Return the error that reading a config must raise."""
    with pytest.raises(ConfigError) as caught:
        read(config)
    return caught.value


def refused(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Return key and kind of every problem of a config, which must have one."""
    return [(problem.key, problem.kind) for problem in refusal(config).problems]
