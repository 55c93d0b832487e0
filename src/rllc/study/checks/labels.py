"""Checks of texts in figures: text between dollars must be mathematics that matplotlib can set."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from rllc.study.study import Study

SHOWN = {
    "distributions": {"label"},
    "experiments": {"label"},
    "figures": {"options"},
    "animations": {"options"},
}


def label_problems(study: Study) -> Iterator[str]:
    """Yield the problems of texts whose dollars do not enclose mathematics."""
    formulas = {place: text for place, text in shown_texts(study) if "$" in text.replace(r"\$", "")}
    for place, text in formulas.items():
        if why := _misset(text):
            yield f"{place}: {text!r} is not valid mathematics: {why}; write \\$ where a dollar is meant"


def undrawable_labels(study: Study) -> list[str]:
    """Return a warning for each text in the config with characters that no font of this machine has."""
    odd = {place: text for place, text in shown_texts(study) if not text.isascii()}
    if not odd or find_spec("matplotlib") is None:
        return []
    from rllc.figures.fonts import undrawable  # takes half a second, and few studies need it

    missing = {place: undrawable(text) for place, text in odd.items()}
    return [
        f"{place}: no font of this machine has {characters!r}, which figures will show as boxes: install one "
        "(fonts-noto-cjk and fonts-noto-core on Debian) or write it otherwise"
        for place, characters in missing.items()
        if characters
    ]


def shown_texts(study: Study) -> Iterator[tuple[str, str]]:
    """Yield place and text of every text of the config that figures show."""
    shown = study.model_dump(include={table: {"__all__": keys} for table, keys in SHOWN.items()})
    return _texts("", shown)


def _misset(text: str) -> str:
    """Return why matplotlib cannot set a text with formulas; "" if it can, or is not installed."""
    if text.replace(r"\$", "").count("$") % 2:
        return "a dollar opens it and none closes it"  # beside another such text it would
    if find_spec("matplotlib") is None:
        return ""
    from matplotlib.mathtext import MathTextParser  # takes half a second, and few studies need it

    try:
        MathTextParser("agg").parse(text)
    except ValueError as error:
        return str(error).strip().splitlines()[-1].removeprefix("ParseFatalException: ")
    return ""


def _texts(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict | list):
        for name, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(f"{place}.{name}" if place else str(name), entry)
