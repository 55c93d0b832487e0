"""Generated parts of the docs: keys of the config, files of results, figures, the graph of rules.

``python -m rllc.study.document`` (``make docs``) writes them. With the name of a part, as ``figures``, it
prints only that part. Tests compare the docs with sections, specs and the workflow.
"""

import re
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic.fields import FieldInfo

from rllc.study.config_model import ConfigModel
from rllc.study.datasets import TRAINING_LOSS
from rllc.study.figure_options import about as drawn
from rllc.study.figure_options import listed
from rllc.study.figures import ANIMATIONS, FIGURES
from rllc.study.specs import Variable
from rllc.study.study import Study
from rllc.study.table import ANALYSES, MEASURES

BOUNDS = {
    "ge": "at least",
    "gt": "above",
    "le": "at most",
    "lt": "below",
    "min_length": "entries: at least",
    "max_length": "at most",
}
LOWER = ("ge", "gt", "min_length")
IMPORTS = "where training is done here"
BEFORE_DISTRIBUTION = ("component", "head", "later_head")  # listed before it; all other dims after it


def keys() -> str:
    """Return a Markdown table per section: key, type, default, meaning."""
    parts = []
    for section in sections(Study, []):
        rows = [_row(name, field) for name, field in section.model_fields.items()]
        about = (section.__doc__ or "").strip()
        parts.append(
            f"### {section.__name__}\n\n{about}\n\n| key | type | default | meaning |\n|---|---|---|---|\n"
            + "\n".join(rows)
        )
    return "\n\n".join(parts)


def files() -> str:
    """Return a Markdown table of the datasets of measures and analyses: file, variables with dims, rule."""
    lines = ["| file | variables (dims) | made by |", "|---|---|---|"]
    for spec in MEASURES:
        where = ("seed", "step", *(["distribution"] if spec.per_distribution else []))
        groups = _by_dims(spec.variables, where)
        groups += _by_dims(spec.finish.variables, spec.finish.dims) if spec.finish else []
        about = "; ".join(groups) or spec.about
        lines.append(f"| {_file(spec.pattern)} | {about} | `{spec.name}`, `gather` |")
    for spec in ANALYSES:
        about = "; ".join(_by_dims(spec.variables, ("seed",))) or spec.about
        lines.append(f"| {_file(spec.name)} | {about} | `{spec.name}` |")
    loss = f"`loss` of every update, at the weights after `step` updates {IMPORTS} (seed, step)"
    lines.append(f"| {_file(TRAINING_LOSS)} | {loss} | `{TRAINING_LOSS}` |")
    return "\n".join(lines)


def figures() -> str:
    """Return Markdown tables of figures and animations: name, content, datasets, options with defaults."""
    tables = {"Figures": FIGURES, "Animations": ANIMATIONS}
    parts = []
    for title, rows in tables.items():
        lines = ["| name | what it draws | reads | options: values, default |", "|---|---|---|---|"]
        for name, spec in rows.items():
            about = drawn(spec).replace("|", "\\|")
            needs = ", ".join(f"`{needed}.nc`" for needed in spec.needs)
            given = [f"`{each.name}`: {each.kind}, `{each.default}`" for each in listed(spec)]
            lines.append(f"| `{name}` | {about} | {needs} | {'<br>'.join(given) or 'none'} |")
        parts.append(f"## {title}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _file(pattern: str) -> str:
    """Return the name of a dataset's file, which contains a further sampling setting."""
    name, further, _ = pattern.partition("(")
    return f"`{name}.nc`" + (f", `{name}.<setting>.nc`" if further else "")


def _by_dims(variables: Mapping[str, Variable], where: tuple[str, ...]) -> list[str]:
    """Return variables grouped by their dims: ``a``, ``b`` (seed, step, head, distribution)."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, variable in variables.items():
        first = [dim for dim in variable.dims if dim in BEFORE_DISTRIBUTION]
        rest = [dim for dim in variable.dims if dim not in BEFORE_DISTRIBUTION]
        dims = (*where[:2], *first, *where[2:], *rest)
        groups.setdefault(dims, []).append(f"`{name}`" + (variable.optional and f" {variable.optional}"))
    return [f"{', '.join(names)} ({', '.join(dims)})" for dims, names in groups.items()]


def rules() -> str:
    """Return Snakemake's graph of rules of the default study in Mermaid, without the target."""
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "--forceall"]
    graph = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = dict(re.findall(r"(\w+)\[(\w+)\]", graph))
    arrows = [(names[a], names[b]) for a, b in re.findall(r"^\s*(\w+) --> (\w+)", graph, re.M)]
    lines = [f"    {a} --> {b}" for a, b in sorted(set(arrows)) if a != b and b != "all"]
    return "\n".join(["```mermaid", "flowchart TB", *lines, "```"])


# document -> name of its generated part, and the function that makes it
GENERATED: dict[str, tuple[str, Callable[[], str]]] = {
    "config/README.md": ("keys", keys),
    "results/README.md": ("files", files),
    "docs/development.md": ("rules", rules),
    "docs/figures.md": ("figures", figures),
}


def generated(document: str, text: str) -> str:
    """Return the text of a document with its generated part between the markers."""
    name, make = GENERATED[document]
    begin, end = f"<!-- {name}: generated by `make docs` -->", f"<!-- end of {name} -->"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{make()}\n\n{end}{rest.partition(end)[2]}"


def sections(section: type[ConfigModel], seen: list[type[ConfigModel]]) -> Iterator[type[ConfigModel]]:
    """Yield a section and all sections in it, each once, outermost first."""
    if section in seen:
        return
    seen.append(section)
    yield section
    for field in section.model_fields.values():
        for inner in _classes(field.annotation):
            yield from sections(inner, seen)


def _classes(annotation: Any) -> Iterator[type[ConfigModel]]:
    if isinstance(annotation, type) and issubclass(annotation, ConfigModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _classes(argument)


def _row(name: str, field: FieldInfo) -> str:
    required = field.is_required()
    default = "required" if required else f"`{field.default!r}`" if field.default is not None else "`null`"
    meaning = (field.description or "").replace("|", "\\|")
    bounds = ", ".join(_bounds(field))
    return (
        f"| `{name}` | {_type(field.annotation)} | {default} | {meaning}{f' ({bounds})' if bounds else ''} |"
    )


def _bounds(field: FieldInfo) -> Iterator[str]:
    """Yield the bounds of a number or of its count of entries, of several of one kind the tightest."""
    for kind, words in BOUNDS.items():
        values = [value for bound in field.metadata if (value := getattr(bound, kind, None)) is not None]
        if values:
            yield f"{words} {max(values) if kind in LOWER else min(values):g}"


def _type(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is type(None):
        return "null"
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is Literal:
        return " \\| ".join(f"`{argument}`" for argument in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type(argument) for argument in arguments)
    if origin is list:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"table of {_type(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, ConfigModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return {"str": "text", "int": "integer", "float": "number", "bool": "true or false", "Any": "values"}.get(
        annotation.__name__, "text"
    )


def main() -> None:
    """Write the generated parts, or print the one that the argument names (keys, files, figures)."""
    makers = dict(GENERATED.values())
    if len(sys.argv) > 1:
        if sys.argv[1] not in makers:
            sys.exit(f"{sys.argv[1]!r} is no generated part: expected one of {', '.join(makers)}")
        print(makers[sys.argv[1]]())
        return
    for document in GENERATED:
        path = Path(document)
        path.write_text(generated(document, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
