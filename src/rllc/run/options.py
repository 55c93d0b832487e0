"""Options of Snakemake's command line: a list that is given twice, of which Snakemake takes the last alone."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class _Given(argparse.Namespace):
    """Keeps every value that an option is given, in order, the default first."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["values"] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["values"].setdefault(name, []).append(value)
        super().__setattr__(name, value)


def repeated(command: Sequence[str]) -> list[str]:
    """Return what is wrong with a command line, a sentence for each list that is given more than once.

    command  ``sys.argv``; that of another program, which uses Snakemake's API, is not judged
    """
    program = Path(command[0])
    if "snakemake" not in (program.name, program.parent.name):
        return []
    from snakemake.cli import get_argument_parser

    parser, given = get_argument_parser(), _Given()
    arguments = list(command[1:])
    if "--" in arguments:
        arguments = arguments[: arguments.index("--")]
    parser.parse_args(arguments, namespace=given)
    values = given.__dict__["values"]
    return [
        _problem(action.option_strings[0], values[action.dest][1:])
        for action in parser._actions
        if action.option_strings and action.nargs in ("+", "*") and len(values.get(action.dest, [])) > 2
        if not isinstance(action, argparse._AppendAction)
    ]


def _problem(option: str, values: list[Any]) -> str:
    every = "VALUE VALUE"
    if all(isinstance(given, list) for given in values):
        every = " ".join(str(value) for given in values for value in given)
    return (
        f"`{option}` is given {len(values)} times, and Snakemake takes the last alone. Give it once, with all "
        f"its values, and `--` between them and targets: {option} {every} --"
    )
