"""Problems of single values of the config in words: the key, the value given, and the values expected."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from rllc.study.config_model import Problem, nearest
from rllc.study.families import FAMILIES
from rllc.study.inputs import is_utf8
from rllc.study.tasks import TASKS, TOKENS

LARGEST = 2**63 - 1  # largest integer of an array
DEEPEST = 30  # largest depth of tables and lists; the default config has eight levels
MOST = 200_000  # largest number of values; the default config has some 700
# that pydantic puts into the place of a problem: table -> how many places behind it, and which
TAGS = {
    "distributions": (2, {source for spec in TASKS.values() for source in spec.sources}),
    "tokenizers": (2, set(TOKENS)),
    "checkpoints": (1, {"train", "import", "huggingface"}),
    "model": (1, set(FAMILIES)),
}
NUMBERED = ("revisions",)  # the table whose keys are numbers
# types in a union: pydantic names the one it tried
TRIED = re.compile(r"((constrained-)?(str|int)|list\[str\]|function-after\[.*)$")


def unstorable(config: Any) -> Iterator[str]:
    """Yield the problems of values that no key accepts.

    These are integers beyond 64 bits, tables without end, values of other types, and text that is not UTF-8.
    """
    waiting: list[tuple[tuple[str, ...], Any]] = [((), config)]
    count = 0
    while waiting:
        loc, value = waiting.pop()
        place, count = ".".join(loc), count + 1
        if count > MOST:
            yield f"config: more than {MOST:,} values; look for anchors of anchors, as in {'.'.join(loc[:4])}"
            return
        if len(loc) > DEEPEST:
            yield f"{'.'.join(loc[:4])}...: tables are nested more than {DEEPEST} deep, or contain themselves"
            return
        if isinstance(value, dict):
            for name, entry in value.items():
                if isinstance(name, int) and loc[-1:] == NUMBERED:
                    name = str(name)
                if not isinstance(name, str):
                    yield f"{place or 'config'}: the key {name!r} is not text; put it in quotes"
                elif not is_utf8(name):
                    yield f"{place or 'config'}: the key {name!r} is not UTF-8; give it another name"
                waiting.append(
                    ((*loc, name if isinstance(name, str) and is_utf8(name) else ascii(name)), entry)
                )
        elif isinstance(value, list | tuple):
            waiting += [((*loc, str(i)), entry) for i, entry in enumerate(value)]
        elif isinstance(value, str) and not is_utf8(value):
            yield f"{place}: {value!r} is not UTF-8; rename the file or folder, or correct the text"
        elif isinstance(value, int) and abs(value) > LARGEST:
            yield f"{place}: {value} is beyond 64 bits; give at most {LARGEST}"


def explained(error: ValidationError) -> list[Problem]:
    """Return pydantic's errors as problems, one per key, with a hint if it helps."""
    table: dict[str, list[tuple[str, str]]] = {}
    for problem in error.errors():
        place, kind, text = _found(problem)
        table.setdefault(place, []).append((kind, text))
    within = [place for place in table if not any(other.startswith(f"{place}.") for other in table)]
    return [
        Problem(
            f"{place}: {'; or: '.join(dict.fromkeys(text for _, text in table[place]))}", table[place][0][0]
        )
        for place in within
    ]


def _place(loc: tuple[str | int, ...]) -> str:
    """Return the key of a problem, without the tags that pydantic adds for unions."""
    kept = [
        str(part)
        for i, part in enumerate(loc)
        if not any(part in tags and i >= n and loc[i - n] == name for name, (n, tags) in TAGS.items())
        and not (i > 2 and TRIED.match(str(part)))
    ]
    return ".".join(part for part in kept if part != "[key]") or "config"


def _found(problem: ErrorDetails) -> tuple[str, str, str]:
    """Return key, kind and text of one error of pydantic."""
    place, kind, given = _place(problem["loc"]), problem["type"], problem["input"]
    text = problem["msg"].removeprefix("Value error, ")
    context = problem.get("ctx", {})
    if kind == "union_tag_invalid":
        what = context["discriminator"].strip("'_()")
        known = re.findall(r"'(\w+)'", context["expected_tags"])
        return (
            f"{place}.{what}",
            kind,
            f"there is no {what} '{context['tag']}'{nearest(context['tag'], known)}",
        )
    if isinstance(given, str | int | float | bool):
        text += f" (given: {given!r})"
    return place, kind, text + _hint(kind, given, context)


def _hint(kind: str, given: Any, context: Mapping[str, Any]) -> str:
    """Return a hint in addition to pydantic's words; "" if they suffice."""
    if isinstance(given, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", given):
        return (
            f": YAML reads {given} as text; write it with a decimal point and a signed exponent, such as "
            "1.0e-3 or 3.0e+3"
        )
    if kind == "missing":
        return ": give it a value (config/README.md says what it means)"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return ": give a table of keys and values"
    if kind == "literal_error" and isinstance(given, str):
        near = nearest(given, re.findall(r"'([^']*)'", context["expected"]))
        return near if near.startswith("; did you mean") else ""
    return ""
