"""Functions named by their path, so that the workflow can plan without importing them."""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class NamedFunction(str):
    """The path of a function of this package, as ``rllc.figures.stages:draw``."""

    @property
    def module(self) -> str:
        """Return the name of its module."""
        return self.partition(":")[0]

    def load(self) -> Callable[..., Any]:
        """Import the module and return the function."""
        return getattr(importlib.import_module(self.module), self.partition(":")[2])

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of a text: the path is read as it is."""
        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema())


def named_in(settings: object) -> Iterator[NamedFunction]:
    """Yield the functions that the fields of a dataclass instance name."""
    yield from (value for value in vars(settings).values() if isinstance(value, NamedFunction))
