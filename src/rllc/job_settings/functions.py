"""Functions that a job is told by their path, so that who tells it need not import them."""

import importlib
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class NamedFunction(str):
    """A function of this package by its path, ``rllc.figures.stages:draw``."""

    @property
    def module(self) -> str:
        """Return the name of its module."""
        return self.partition(":")[0]

    def load(self) -> Callable[..., Any]:
        """Import the module and return the function."""
        return getattr(importlib.import_module(self.module), self.partition(":")[2])

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read it as the text that it is."""
        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema())


def named_in(settings: object) -> Iterator[NamedFunction]:
    """Yield the functions that the fields of a dataclass name."""
    if is_dataclass(settings):
        for field in fields(settings):
            value = getattr(settings, field.name)
            if isinstance(value, NamedFunction):
                yield value
