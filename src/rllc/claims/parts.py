"""The modules of a work's package of claims."""

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType


def parts_of(package: str, path: Iterable[str]) -> list[ModuleType]:
    """Return all modules of a package, by their ``ORDER`` and then by name. Those without one come last.

    package  its ``__name__``
    path     its ``__path__``; by reading it, a package declares that it depends on all of its modules
             (``rllc.run.fingerprint``)
    """
    names = sorted(found.name for found in pkgutil.iter_modules(path))
    modules = [import_module(f"{package}.{name}") for name in names]
    return sorted(modules, key=lambda module: getattr(module, "ORDER", float("inf")))
