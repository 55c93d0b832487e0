"""Documents of one distribution of text."""

from pathlib import Path

from rllc.job.stage import run
from rllc.store.documents import write_documents
from rllc.tasks.language import documents, sources


def main(source: dict, held_out: float, versions: dict, corpus: Path) -> None:
    """Read a source of text, split it by document hash, and write it as an Arrow table with a manifest."""
    kind = source.pop("source")
    about = {"source": kind, "settings": source, "versions": versions}
    table = documents.collect(sources.read(kind, **source), held_out_fraction=held_out, about=about)
    write_documents(table, corpus, text=documents.manifest(table, **about))


if __name__ == "__main__":
    run(main)
