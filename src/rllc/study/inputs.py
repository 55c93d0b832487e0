"""Names that a user's file cannot have where it is the input of a rule."""

import re
from os import PathLike, fspath

WILDCARD = re.compile(r"\{\s*\w+\s*(,[^}]*)?\}")


def as_input(file: str | PathLike[str]) -> str:
    """The file's path. Raises ValueError where Snakemake would read a part of it as a wildcard."""
    path = fspath(file)
    if WILDCARD.search(path):
        raise ValueError(f"{path!r} has a name in braces, which Snakemake takes for a wildcard: rename it")
    return path
