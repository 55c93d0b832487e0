"""Corpora on disk: a table of documents and its manifest."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from rllc.store import manifest as manifests
from rllc.store.atomic_write import whole
from rllc.tasks.arrow import read_table, write_table


def read_documents(corpus: Path) -> pa.Table:
    """Return the documents of a manifest."""
    return read_table(manifests.verified(corpus, manifests.read(corpus)["documents"]))


def write_documents(table: pa.Table, corpus: Path, *, text: dict[str, Any]) -> None:
    """Write documents and their manifest. ``text`` is the manifest's entry about them."""
    file = corpus.with_suffix(".arrow")
    with whole(file) as temporary:
        write_table(table, temporary)
    manifests.write(corpus, documents=manifests.file_entry(file), text=text)
