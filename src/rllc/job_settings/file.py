"""Settings of a job as a JSON file, so that ``diff`` can compare two of them."""

import hashlib
import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")


def as_text(settings: object) -> str:
    """Return the settings as JSON. Keys keep their order: figures show distributions in it."""
    return json.dumps(settings, default=_plain, indent=1)


def digest(settings: object) -> str:
    """Return a hash of the settings, 32 hexadecimal digits, which names their file.

    Every job of a plan needs a hash. JSON without line breaks takes a third of the time, since C code writes
    it.
    """
    return hashlib.sha256(json.dumps(settings, default=_plain).encode()).hexdigest()[:32]


def read_settings(file: Path, kind: type[T]) -> T:
    """Return the settings that a file holds, checked by the annotations of their class.

    Raises ValueError if the file was written for other code, or is damaged.
    """
    try:
        return TypeAdapter(kind).validate_python(json.loads(file.read_text(encoding="utf-8")))
    except ValueError as error:  # both json and pydantic raise it
        raise ValueError(
            f"{file} holds no {kind.__name__}: the source changed after this job was planned, or the file is "
            f"damaged. Run snakemake again, which writes the file anew ({error})"
        ) from error


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return vars(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be told to a job: expected plain data")
