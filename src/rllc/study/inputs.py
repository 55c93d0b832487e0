"""Check that the name of a user's file can be the input of a rule."""

import re
from os import PathLike, fspath

WILDCARD = re.compile(r"\{\s*\w+\s*(,[^}]*)?\}")


def as_input(file: str | PathLike[str]) -> str:
    """Return the file's path. Raises ValueError if it cannot be an input of Snakemake.

    Snakemake writes all names as UTF-8, and reads a word in braces as a wildcard.
    """
    path = fspath(file)
    if not is_utf8(path):
        raise ValueError(f"{path!r} has a name that is not UTF-8: rename it")
    if WILDCARD.search(path):
        raise ValueError(f"{path!r} has a name in braces, which Snakemake takes for a wildcard: rename it")
    return path


def is_utf8(text: str) -> bool:
    """Return whether a text can be written as UTF-8. Python reads other bytes as lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
