"""Names that a user's file cannot have where it is the input of a rule."""

import re
from os import PathLike, fspath

WILDCARD = re.compile(r"\{\s*\w+\s*(,[^}]*)?\}")


def as_input(file: str | PathLike[str]) -> str:
    """Return the file's path. Raises ValueError where Snakemake cannot have it as an input.

    It writes all names as UTF-8, and takes a word in braces for a wildcard.
    """
    path = fspath(file)
    if not is_utf8(path):
        raise ValueError(f"{path!r} has a name that is not UTF-8: rename it")
    if WILDCARD.search(path):
        raise ValueError(f"{path!r} has a name in braces, which Snakemake takes for a wildcard: rename it")
    return path


def is_utf8(text: str) -> bool:
    """Return whether a text can be written: Python reads other bytes of a name as halves of characters."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
