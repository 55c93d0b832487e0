"""Texts that figures show: what stands between dollars must be mathematics that matplotlib can set."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from rllc.study.study import Study

SHOWN = {
    "distributions": {"label"},
    "experiments": {"label"},
    "statistics": {"label", "unit"},
    "claims": {"text"},
    "figures": {"options"},
    "animations": {"options"},
}


def label_problems(study: Study) -> Iterator[str]:
    """Texts with an even number of dollars, which matplotlib reads as mathematics, and cannot."""
    shown = study.model_dump(include={table: {"__all__": keys} for table, keys in SHOWN.items()})
    formulas = {place: text for place, text in _texts("", shown) if _is_formula(text)}
    if not formulas or find_spec("matplotlib") is None:
        return
    from matplotlib.mathtext import MathTextParser  # half a second that a study without formulas is spared

    parser = MathTextParser("agg")
    for place, text in formulas.items():
        try:
            parser.parse(text)
        except ValueError as error:
            why = str(error).strip().splitlines()[-1]
            yield f"{place}: {text!r} is no mathematics ({why}); write \\$ where a dollar is meant"


def _texts(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict | list):
        for name, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(f"{place}.{name}" if place else str(name), entry)


def _is_formula(text: str) -> bool:
    """As matplotlib decides."""
    dollars = text.count("$") - text.count(r"\$")
    return dollars > 0 and dollars % 2 == 0
