"""Documents of one distribution of text."""

from pathlib import Path

from rllc.record import manifest
from rllc.record.stage import run
from rllc.record.store import whole
from rllc.tasks.language import documents, sources
from rllc.tasks.language.arrow import write_table


def main(source: dict, held_out: float, versions: dict, corpus: Path) -> None:
    """Read a source of text, split it by document hash, and write it as an Arrow table with a manifest."""
    kind = source.pop("source")
    about = {"source": kind, "settings": source, "versions": versions}
    table = documents.collect(sources.read(kind, **source), held_out_fraction=held_out, about=about)
    with whole(corpus.with_suffix(".arrow")) as temporary:
        write_table(table, temporary)
    entry = manifest.file_entry(corpus.with_suffix(".arrow"))
    manifest.write(corpus, documents=entry, text=documents.manifest(table, **about))


if __name__ == "__main__":
    run(main)
