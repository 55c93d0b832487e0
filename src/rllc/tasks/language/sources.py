"""The table of text sources. A new kind is a module with ``documents(**settings)`` and a line here."""

import difflib
import inspect
from collections.abc import Callable, Iterator

from rllc.tasks.language import files, hub, installed
from rllc.tasks.language.documents import Document

READERS: dict[str, Callable[..., Iterator[Document]]] = {
    "installed": installed.documents,
    "files": files.documents,
    "hub": hub.documents,
}


def read(source: str, **settings: object) -> Iterator[Document]:
    """The documents of a ``source`` in READERS; ``settings`` are the arguments of its ``documents``.

    Raises ValueError on a source or a setting that does not exist, or a setting that is missing.
    """
    if source not in READERS:
        raise ValueError(
            f"there is no source {source!r}{_near(source, list(READERS))}: expected {list(READERS)}"
        )
    reader = READERS[source]
    parameters = inspect.signature(reader).parameters
    for name in settings:
        if name not in parameters:
            raise ValueError(
                f"source {source!r} has no setting {name!r}{_near(name, list(parameters))}: "
                f"expected {list(parameters)}"
            )
    missing = [n for n, p in parameters.items() if p.default is p.empty and n not in settings]
    if missing:
        raise ValueError(f"source {source!r} needs {missing}")
    return reader(**settings)


def _near(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
