"""How a script of the workflow is called: flags from the signature, code checked, errors in one line."""

import argparse
import dataclasses
import importlib
import inspect
import json
import logging
import sys
import time
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rllc.memory import freed_memory_kept
from rllc.run.fingerprint import fingerprint
from rllc.run.long_settings import told, told_files

log = logging.getLogger("rllc")
SCRIPTS = Path("workflow/scripts")


def run(main: Callable[..., None]) -> None:
    """Call ``main`` with the command line's flags, one per parameter, read by its annotation.

    Path, int and str as they are; ``dict`` as JSON; ``list[Path]`` takes several values; either of these may
    be ``@<file>``, where it is long (``rllc.run.long_settings``); ``Path | None`` may be empty; ``Callable``
    is a function of this package, as ``rllc.figures.stages:draw``, whose module is part of the fingerprint. A
    parameter that is a dataclass takes a flag for each of its fields.

    ``--code`` is the fingerprint that the job was planned with: where the source has changed since, the
    job refuses to run, so no result is made by other code than it is recorded under. A flag ``code`` of
    ``main`` gets the fingerprint.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    log.setLevel(logging.INFO)
    script = Path(sys.argv[0])
    parameters = _hints(main)
    hints = {flag: hint for name, given in parameters.items() for flag, hint in _flags(name, given).items()}
    parser = argparse.ArgumentParser(prog=script.name, description=inspect.getdoc(main))
    parser.add_argument("--code", help="fingerprint that the job was planned with; left out: not checked")
    for flag, hint in hints.items():
        if flag != "code":
            parser.add_argument(f"--{flag}", **_reader(hint))
    given = vars(parser.parse_args())
    try:
        named = [name for flag, hint in hints.items() if _is_function(hint) for name in given[flag] if name]
        given["code"] = _same_code(script, given["code"], [name.partition(":")[0] for name in named])
        values = {flag: _value(hint, given[flag]) for flag, hint in hints.items()}
        started = time.monotonic()
        with freed_memory_kept():
            main(**{name: _argument(name, hint, values) for name, hint in parameters.items()})
        took = time.monotonic() - started
        print(f"{time.strftime('%H:%M:%S')} done in {took:.1f} s")  # for the log alone: see rllc.run.command
    except (ValueError, OSError, ArithmeticError) as error:
        sys.exit(f"{script.name}: {type(error).__name__}: {error}")
    except MemoryError as error:
        sys.exit(
            f"{script.name}: {type(error).__name__}: {error or 'there is not enough memory'}. Run fewer jobs "
            "at once (--cores), ask the cluster for more (mem_mb), or give less data at once"
        )
    except RuntimeError as error:
        if not any(kind.__module__.startswith("torch") for kind in type(error).__mro__):
            raise
        sys.exit(f"{script.name}: {type(error).__name__}: {_on_a_gpu(error)}")


def _on_a_gpu(error: RuntimeError) -> str:
    """What torch says of a device's failure, its first line, and what to do."""
    reason = (str(error).splitlines() or [""])[0]
    if "out of memory" in reason.lower():
        return (
            f"{reason} Ask for a larger GPU, one that nobody shares, or lower batch_size or scored_positions"
        )
    return f"{reason} The GPU failed, or this torch was not built for it: try another, or compute.device: cpu"


def _same_code(script: Path, planned: str | None, modules: list[str]) -> str:
    found = fingerprint(SCRIPTS / script.name, *modules)
    if planned is not None and found != planned:
        raise ValueError(
            f"the source changed after this job was planned (planned with {planned}, now {found}). "
            "Run snakemake again: it plans with the code as it is now"
        )
    return found


def _is_function(hint: Any) -> bool:
    """Whether a flag names a function: ``Callable``, or ``Callable | None``."""
    return Callable in (hint, *typing.get_args(hint))


def _function(path: str) -> Callable[..., Any]:
    """The function that ``module:function`` names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _hints(main: Callable[..., None]) -> dict[str, Any]:
    """Parameter -> annotation, in order."""
    hints = typing.get_type_hints(main)
    return {name: hints[name] for name in inspect.signature(main).parameters}


def _flags(name: str, hint: Any) -> dict[str, Any]:
    """Flag -> annotation of one parameter."""
    return typing.get_type_hints(hint) if dataclasses.is_dataclass(hint) else {name: hint}


def _argument(name: str, hint: Any, values: dict[str, Any]) -> Any:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint(**{field.name: values[field.name] for field in dataclasses.fields(hint)})
    return values[name]


def _reader(hint: Any) -> dict[str, Any]:
    if typing.get_origin(hint) is list:
        return {"nargs": "*", "required": True}
    if isinstance(hint, types.UnionType):
        return {"nargs": "*", "default": []}
    return {"required": True, "nargs": 1} if hint is Callable else {"required": True}


def _value(hint: Any, given: Any) -> Any:
    if typing.get_origin(hint) is list:
        (item,) = typing.get_args(hint)
        return [_value(item, one) for one in told_files(given) if one != ""]
    if isinstance(hint, types.UnionType):
        kept = [one for one in given if one != ""]
        return _value(typing.get_args(hint)[0], kept[0]) if kept else None
    if hint is Callable:
        return _function(given[0] if isinstance(given, list) else given)
    return json.loads(told(given)) if hint is dict else hint(given)
