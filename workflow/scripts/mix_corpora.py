"""Several distributions of text, interleaved by weight."""

from pathlib import Path

from rllc.record import manifest
from rllc.record.stage import run
from rllc.record.store import whole
from rllc.tasks.language.arrow import read_manifest, read_table, write_table
from rllc.tasks.language.mixture import mix


def main(parts: list[Path], weights: dict, stream: int, corpus: Path) -> None:
    """Mix corpora by share of characters; no text is used twice."""
    tables = {
        name: read_table(manifest.verified(part, manifest.read(part)["documents"]))
        for name, part in zip(weights, parts, strict=True)
    }
    table = mix(tables, weights, seed=stream)
    with whole(corpus.with_suffix(".arrow")) as temporary:
        write_table(table, temporary)
    entry = manifest.file_entry(corpus.with_suffix(".arrow"))
    manifest.write(corpus, documents=entry, text=read_manifest(table))


if __name__ == "__main__":
    run(main)
