"""What is wrong with single values of the config, in words: key, what was given, what would do."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from rllc.study.families import FAMILIES
from rllc.study.inputs import is_utf8
from rllc.study.section import Problem, nearest
from rllc.study.tasks import TASKS, TOKENS

LARGEST = 2**63 - 1  # integer that arrays hold
DEEPEST = 30  # tables and lists within each other; the config itself has eight
MOST = 200_000  # values; the config itself has some 700
# that pydantic puts into the place of a problem: table -> how many places behind it, and which
TAGS = {
    "distributions": (2, {source for row in TASKS.values() for source in row.sources}),
    "tokenizers": (2, set(TOKENS)),
    "checkpoints": (1, {"train", "import"}),
    "model": (1, set(FAMILIES)),
}
# types of values that may be of several; pydantic names the one it tried
TRIED = re.compile(r"((constrained-)?(str|int)|list\[str\]|function-after\[.*)$")


def unstorable(config: Any) -> Iterator[str]:
    """Values that no key takes: integers beyond 64 bits, tables without end, what is no text or not UTF-8."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), config)]
    count = 0
    while waiting:
        loc, value = waiting.pop()
        place, count = ".".join(loc), count + 1
        if count > MOST:
            yield f"config: more than {MOST:,} values; look for anchors of anchors, as in {'.'.join(loc[:4])}"
            return
        if len(loc) > DEEPEST:
            yield f"{'.'.join(loc[:4])}...: tables lie more than {DEEPEST} deep, or in themselves"
            return
        if isinstance(value, dict):
            for name, entry in value.items():
                if not isinstance(name, str):
                    yield f"{place or 'config'}: the key {name!r} is no text; put it in quotes, or correct it"
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
    """Return what pydantic finds wrong, in its own words, with a hint where it helps; one problem per key."""
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
    """Where a problem is, without the tags that pydantic adds for unions: the user wrote none."""
    kept = [
        str(part)
        for i, part in enumerate(loc)
        if not any(part in tags and i >= n and loc[i - n] == name for name, (n, tags) in TAGS.items())
        and not (i > 2 and TRIED.match(str(part)))
    ]
    return ".".join(part for part in kept if part != "[key]") or "config"


def _found(problem: ErrorDetails) -> tuple[str, str, str]:
    """Return key, kind and text of one problem that pydantic found."""
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
    """Return what helps beside pydantic's words; "" where they say enough."""
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
