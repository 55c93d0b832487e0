"""Snakemake's command line: its targets, and lists given twice, where Snakemake takes only the last."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

NAMING = ("targets", "forcerun", "until", "omit_from", "prioritize")  # what names rules and files


class _Given(argparse.Namespace):
    """Namespace that keeps every value of an option, in order, the default first."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["values"] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["values"].setdefault(name, []).append(value)
        super().__setattr__(name, value)


class Options(NamedTuple):
    """Targets of a command line, and its repeated lists.

    repeated  an error sentence for each list that is given more than once
    targets   rules and files: those to make, and those that other options name
    """

    repeated: list[str]
    targets: list[str]


def is_snakemake(command: Sequence[str]) -> bool:
    """Return whether this is Snakemake's command line, not that of a program that uses its API."""
    program = Path(command[0])
    return program.name == "snakemake" or program.parts[-2:] == ("snakemake", "__main__.py")


def options(command: Sequence[str]) -> Options:
    """Return the targets and the repeated lists of a command line.

    command  ``sys.argv``; a program that uses Snakemake's API has neither
    """
    if not is_snakemake(command):
        return Options([], [])
    from snakemake.cli import get_argument_parser

    parser, given = get_argument_parser(), _Given()
    arguments = list(command[1:])
    end = arguments.index("--") if "--" in arguments else len(arguments)
    parser.parse_args(arguments[:end], namespace=given)
    values = given.__dict__["values"]
    repeated = [
        _problem(action.option_strings[0], values[action.dest][1:])
        for action in parser._actions
        if action.option_strings and action.nargs in ("+", "*") and len(values.get(action.dest, [])) > 2
        if not isinstance(action, argparse._AppendAction)
    ]
    named = {name for option in NAMING for name in getattr(given, option, None) or ()}
    return Options(repeated, sorted(named | set(arguments[end + 1 :])))


def _in_order(given: Any) -> list[Any]:
    return sorted(given, key=str) if isinstance(given, set | frozenset) else list(given)


def _problem(option: str, values: list[Any]) -> str:
    every = "VALUE VALUE"
    if all(isinstance(given, list | tuple | set | frozenset) for given in values):
        every = " ".join(str(value) for given in values for value in _in_order(given))
    return (
        f"`{option}` is given {len(values)} times, and Snakemake takes the last alone. Give it once, with "
        f"all its values, and `--` between them and targets: {option} {every} --"
    )
