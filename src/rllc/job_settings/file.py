"""Settings of a job as a file: JSON, so that two of them can be compared by ``diff``."""

import hashlib
import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")


def as_text(settings: object) -> str:
    """Return the settings as JSON, in the order given: order is information (distributions of a figure)."""
    return json.dumps(settings, default=_plain, indent=1)


def digest(settings: object) -> str:
    """Return what the name of their file is: 32 hexadecimal digits, of settings that differ different ones.

    It is asked for of every job of a plan, and JSON without line breaks takes a fifth of the time.
    """
    return hashlib.sha256(json.dumps(settings, default=_plain).encode()).hexdigest()[:32]


def read_settings(file: Path, kind: type[T]) -> T:
    """Return the settings that a file holds, checked by the annotations of their class.

    Raises ValueError where the file does not hold such settings: it was written for other code, or is
    damaged.
    """
    try:
        return TypeAdapter(kind).validate_python(json.loads(file.read_text(encoding="utf-8")))
    except (ValidationError, ValueError) as error:
        raise ValueError(
            f"{file} holds no {kind.__name__} as this code reads it: the source changed after the job was "
            f"planned, or the file is damaged. Run snakemake again: it writes the file anew ({error})"
        ) from error


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return vars(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be told to a job: expected plain data")
