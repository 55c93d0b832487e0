"""What every config section is: frozen, typed, without unknown keys, each key with its unit and source."""

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError


class Problem(str):
    """One thing that is wrong with the config: ``<key>: <what is wrong, and what would do>``.

    kind  the type of pydantic's error; unknown_key, unknown_name or unstorable; contradiction of what other
          checks find
    """

    kind: str

    def __new__(cls, sentence: str, kind: str = "contradiction") -> "Problem":
        """Return the sentence with its kind."""
        made = super().__new__(cls, sentence)
        made.kind = kind
        return made

    @property
    def key(self) -> str:
        """Return the key that it is about, with those above it: ``compute.threads``."""
        return self.partition(": ")[0]


class ConfigError(ValueError):
    """The config cannot be used; the message says which keys, why, and what would do."""

    def __init__(self, *problems: str):
        self.problems = [each if isinstance(each, Problem) else Problem(each) for each in problems]
        super().__init__("the config cannot be used:\n" + "\n".join(f"  - {each}" for each in problems))


def like(name: str, known: Iterable[str]) -> list[str]:
    """The closest known name, if any is close."""
    return difflib.get_close_matches(str(name), sorted(map(str, known)), n=1, cutoff=0.5)


def nearest(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the closest known name, else the list of known names."""
    known = sorted(map(str, known))
    close = like(name, known)
    return f"; did you mean '{close[0]}'?" if close else f"; known here: {', '.join(known) or 'none'}"


def key(description: str, *, unit: str = "", source: str = "", **bounds: Any) -> Any:
    """A config key: what it means, its unit, where its value comes from, and its bounds."""
    text = description + (f" [{unit}]" if unit else "") + (f" Source: {source}." if source else "")
    return Field(description=text, **bounds)


class Section(BaseModel):
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
