"""Mix several distributions of text by weight."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job_settings.text import MixCorpora
from rllc.store.documents import read_documents, write_documents
from rllc.tasks.arrow import read_manifest
from rllc.tasks.language.mixture import mix


def main(settings: MixCorpora, corpus: Path) -> None:
    """Mix corpora by share of characters; no text is used twice."""
    tables = {name: read_documents(file) for name, file in settings.corpora.items()}
    table = mix(tables, settings.weights, seed=settings.stream)
    write_documents(table, corpus, text=read_manifest(table))


if __name__ == "__main__":
    run(main)
