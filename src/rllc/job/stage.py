"""Call a script of the workflow: read flags by the signature, check the code, report errors in one line."""

import argparse
import dataclasses
import inspect
import logging
import sys
import time
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rllc.job_settings.file import read_settings
from rllc.job_settings.functions import named_in
from rllc.memory import SMALLER, freed_memory_kept
from rllc.run.fingerprint import fingerprint

log = logging.getLogger("rllc")
SCRIPTS = Path("workflow/scripts")
OURS = {"code", "settings"}  # flags that this module reads


def run(main: Callable[..., None], *, timed: bool = True) -> None:
    """Call ``main`` with the command line's flags, one per parameter, read by its annotation.

    A flag of type Path, int or str takes one value. ``list[Path]`` takes several. ``Path | None`` and ``str |
    None`` may be empty or left out. A parameter that is a dataclass takes a flag for each field. The flag
    ``settings`` is an exception: it names the file of the settings (``rllc.job_settings.file``).

    ``--code`` is the fingerprint from the plan, of the script and of the functions that its settings name. If
    the source has changed since, the job refuses to run. So every result is made by the code that it records.
    A parameter ``code`` of ``main`` gets the fingerprint.

    timed  whether the last line of the log is the time that it took
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    log.setLevel(logging.INFO)
    script = Path(sys.argv[0])
    parameters = _hints(main)
    hints = {flag: hint for name, given in parameters.items() for flag, hint in _flags(name, given).items()}
    given = vars(_parser(script, main, hints).parse_args())
    try:
        settings = read_settings(Path(given["settings"]), parameters["settings"])
        found = _same_code(script, given["code"], [function.module for function in named_in(settings)])
        values = {flag: _value(hint, given[flag]) for flag, hint in hints.items() if flag not in OURS}
        values |= {"code": found}
        arguments = {
            name: _argument(name, hint, values) for name, hint in parameters.items() if name != "settings"
        }
        started = time.monotonic()
        with freed_memory_kept(SMALLER):
            main(settings=settings, **arguments)
        took = time.monotonic() - started
        if timed:  # only for the log: see rllc.run.command
            print(f"{time.strftime('%H:%M:%S')} done in {took:.1f} s")
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
    """Return the first line of torch's error about a device, and what to do."""
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


def _hints(main: Callable[..., None]) -> dict[str, Any]:
    """Return parameter -> annotation, in order."""
    hints = typing.get_type_hints(main)
    return {name: hints[name] for name in inspect.signature(main).parameters}


def _flags(name: str, hint: Any) -> dict[str, Any]:
    """Return flag -> annotation of one parameter."""
    if name == "settings" or not dataclasses.is_dataclass(hint):
        return {name: hint}
    return typing.get_type_hints(hint)


def _parser(script: Path, main: Callable[..., None], hints: dict[str, Any]) -> argparse.ArgumentParser:
    """Return the parser of a script's flags."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(script.name, description=inspect.getdoc(main), formatter_class=form)
    parser.add_argument("--code", help="fingerprint that the job was planned with; left out: not checked")
    fields = ", ".join(typing.get_type_hints(hints["settings"]))
    parser.add_argument("--settings", required=True, metavar="FILE", help=f"JSON file with: {fields}")
    for flag, hint in hints.items():
        if flag in OURS:
            continue
        if typing.get_origin(hint) is list:
            parser.add_argument(f"--{flag}", nargs="*", required=True)
        elif isinstance(hint, types.UnionType):
            parser.add_argument(f"--{flag}", nargs="*", default=[])
        else:
            parser.add_argument(f"--{flag}", required=True)
    return parser


def _argument(name: str, hint: Any, values: dict[str, Any]) -> Any:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint(**{field.name: values[field.name] for field in dataclasses.fields(hint)})
    return values[name]


def _value(hint: Any, given: Any) -> Any:
    if typing.get_origin(hint) is list:
        (item,) = typing.get_args(hint)
        return [item(one) for one in given if one != ""]
    if isinstance(hint, types.UnionType):
        kept = [one for one in given if one != ""]
        return typing.get_args(hint)[0](kept[0]) if kept else None
    return hint(given)
