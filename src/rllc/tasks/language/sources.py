"""The table of text sources. A new source needs a module with ``documents(**settings)`` and a line here."""

from collections.abc import Callable, Iterator

from rllc.tasks.language import files, hub, installed
from rllc.tasks.language.documents import Document

READERS: dict[str, Callable[..., Iterator[Document]]] = {
    "installed": installed.documents,
    "files": files.documents,
    "hub": hub.documents,
}


def read(source: str, **settings: object) -> Iterator[Document]:
    """Yield the documents of a ``source`` in READERS; ``settings`` are the arguments of its ``documents``."""
    return READERS[source](**settings)
