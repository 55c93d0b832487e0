"""Several distributions of text, interleaved by weight."""

from pathlib import Path

from rllc.job.stage import run
from rllc.store.documents import read_documents, write_documents
from rllc.tasks.arrow import read_manifest
from rllc.tasks.language.mixture import mix


def main(parts: list[Path], weights: dict, stream: int, corpus: Path) -> None:
    """Mix corpora by share of characters; no text is used twice."""
    tables = {name: read_documents(part) for name, part in zip(weights, parts, strict=True)}
    table = mix(tables, weights, seed=stream)
    write_documents(table, corpus, text=read_manifest(table))


if __name__ == "__main__":
    run(main)
