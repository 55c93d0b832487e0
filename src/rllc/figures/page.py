"""Common parts of pages: one static file without a script, two colour schemes, visible blanks."""

from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from rllc.figures.templates import FOLDERS

INK = "#1a1a1a"  # colour of letters on every mark, in the light and in the dark scheme
SCHEMES = {  # light and dark
    "ink": ("#1a1a1a", "#e8e8e8"),
    "paper": ("#ffffff", "#16181c"),
    "soft": ("#595959", "#b0b0b0"),
    "line": ("#d0d0d0", "#44484f"),
    "link": ("#0b4f9e", "#8ab8ff"),
    "box": ("#f6f6f6", "#1f2228"),
}
SIGNS = {"\n": "↵", "\t": "⇥"}


def render(template: str, **values: Any) -> str:
    """Return the page that a template makes of these values. Texts among them are escaped.

    Raises jinja2.UndefinedError where the template reads a value that is not given.
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDERS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "capital": capital,
        "marked": marked,
        "percent": percent,
        "plain": plain,
        "thousands": "{:,}".format,
    }
    made.globals |= {"dark": INK, "schemes": SCHEMES}
    return made


def capital(text: str) -> str:
    """Return a text with a capital first letter."""
    return f"{text[:1].upper()}{text[1:]}"


def percent(share: float) -> str:
    """Return a share as "12 %"; a dash if it is unknown."""
    return f"{share:.0%}".replace("%", " %") if np.isfinite(share) else "–"


def plain(text: str) -> Markup:
    """Return HTML of a text with a sign beside line ends and tabs, which screen readers skip."""
    shown = str(escape(text))
    for letter, sign in SIGNS.items():
        shown = shown.replace(letter, f'<span class="n" aria-hidden="true">{sign}</span>{letter}')
    return Markup(shown)


def marked(text: str) -> str:
    """Return a text with a sign before line ends and tabs, and dots for spaces."""
    for letter, sign in SIGNS.items():
        text = text.replace(letter, f"{sign}{letter}")
    return text.replace(" ", "·")
