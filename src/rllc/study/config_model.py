"""The base of config sections: frozen, typed, without unknown keys. Each key has a unit and a source."""

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError


class Problem(str):
    """A problem of the config: ``<key>: <what is wrong, and what to do>``.

    kind  the type of pydantic's error; unknown_key, unknown_name or unstorable; else contradiction
    """

    kind: str

    def __new__(cls, sentence: str, kind: str = "contradiction") -> "Problem":
        """Return the sentence with its kind."""
        made = super().__new__(cls, sentence)
        made.kind = kind
        return made

    @property
    def key(self) -> str:
        """Return the full key of the problem: ``compute.threads``."""
        return self.partition(": ")[0]


class ConfigError(ValueError):
    """The config cannot be used. The message lists the keys, the reasons, and what to do."""

    def __init__(self, *problems: str):
        self.problems = [each if isinstance(each, Problem) else Problem(each) for each in problems]
        super().__init__("the config cannot be used:\n" + "\n".join(f"  - {each}" for each in problems))


def like(name: str, known: Iterable[str]) -> list[str]:
    """Return the closest known name, if any is close."""
    return difflib.get_close_matches(str(name), sorted(map(str, known)), n=1, cutoff=0.5)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest known name, else the list of known names."""
    known = sorted(map(str, known))
    close = like(name, known)
    return f"; did you mean '{close[0]}'?" if close else f"; known here: {', '.join(known) or 'none'}"


def config_field(description: str, *, unit: str = "", source: str = "", **bounds: Any) -> Any:
    """Return the pydantic field of a config key, with its meaning, unit, source and bounds."""
    text = description + (f" [{unit}]" if unit else "") + (f" Source: {source}." if source else "")
    return Field(description=text, **bounds)


class ConfigModel(BaseModel):
    """A section of the config. Numbers are finite, and not read from text; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = [name for name in data if name not in cls.model_fields]
            if unknown:
                hints = "; ".join(
                    f"unknown key '{name}'{nearest(name, cls.model_fields)}" for name in unknown
                )
                raise PydanticCustomError("unknown_key", "{hints}", {"hints": hints})
        return data
