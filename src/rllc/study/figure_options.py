"""The options of drawing functions, read from their source without an import."""

import ast
import json
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from rllc.study.outputs import FigureSpec

SOURCE = Path(__file__).parents[2]
NUMBER = Annotated[float, Field(allow_inf_nan=False)]
# annotation of an option of a drawing function -> its type in the config, and in words
KINDS: dict[str, tuple[Any, str]] = {
    "str": (str, "text"),
    "int": (int, "a whole number"),
    "float": (NUMBER, "a number"),
    "Name": (str | None, "one name"),
    "Names": (list[str] | None, "a list of names"),
    "Seed": (int | None, "a whole number"),
    "Seeds": (list[int] | None, "a list of whole numbers"),
    "Sequence[str]": (list[str], "a list of texts"),
    "Sequence[float]": (list[NUMBER], "a list of numbers"),
    "Mapping[str, str]": (dict[str, str], "a table of texts"),
}


def misfit(spec: FigureSpec, option: str, value: object) -> str:
    """Return in words the expected type of an option if a config's value has another type; else ""."""
    annotation = next(_annotation(a) for a in _function(spec).args.kwonlyargs if a.arg == option)
    kind, words = KINDS[annotation.removesuffix(" | None")]
    try:
        TypeAdapter(kind | None if annotation.endswith(" | None") else kind).validate_python(
            value, strict=True
        )
    except ValidationError:
        return words
    return ""


class Option(NamedTuple):
    """An option of a drawing function: its values in words, and its default as written in the source."""

    name: str
    kind: str
    default: str


def listed(spec: FigureSpec) -> list[Option]:
    """Return the options of a drawing function in order, in the terms of a config."""
    arguments = _function(spec).args
    found = []
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        annotation = _annotation(argument)
        _, words = KINDS[annotation.removesuffix(" | None")]
        found.append(Option(argument.arg, words, _in_config(default)))
    return found


def about(spec: FigureSpec) -> str:
    """Return the first sentence of a drawing function's docstring."""
    return (ast.get_docstring(_function(spec)) or "").partition("\n\n")[0].replace("\n", " ")


def _annotation(argument: ast.arg) -> str:
    """Return the type of an option as written in the source. Raises TypeError if it has none."""
    if argument.annotation is None:
        raise TypeError(f"the option {argument.arg} of a drawing function has no type")
    return ast.unparse(argument.annotation)


def _in_config(default: ast.expr | None) -> str:
    """Return a default in YAML; the name of a constant stays."""
    if default is None:
        raise TypeError("an option of a drawing function has no default")
    try:
        return json.dumps(ast.literal_eval(default))
    except ValueError:
        return ast.unparse(default)


def options(spec: FigureSpec) -> dict[str, object]:
    """Return the options of a drawing function with their defaults, parsed from its source without an import.

    A default that is the name of a constant becomes None.

    Raises ValueError if the module has no such function.
    """
    node = _function(spec)
    names = [argument.arg for argument in node.args.kwonlyargs]
    written = (d.value if isinstance(d, ast.Constant) else None for d in node.args.kw_defaults)
    return dict(zip(names, written, strict=True))


def _function(spec: FigureSpec) -> ast.FunctionDef:
    module, _, function = spec.draws.partition(":")
    file = SOURCE / f"{module.replace('.', '/')}.py"
    node = _functions(file).get(function)
    if node is None:
        raise ValueError(f"{file.name} has no function {function}; correct its row in rllc.study.figures")
    return node


@cache
def _functions(file: Path) -> dict[str, ast.FunctionDef]:
    """Return the functions of a module. Cached, since a module draws several figures."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
