"""How much text every distribution has, and how predictable it is."""

from pathlib import Path

from rllc.record import manifest
from rllc.record.provenance import attributes, stamp
from rllc.record.stage import run
from rllc.record.store import write_dataset
from rllc.tasks.language.arrow import read_table
from rllc.tasks.language.summary import corpus_summary


def main(corpora: list[Path], blocks: list[Path], labels: dict, output: Path) -> None:
    """One dataset over all distributions of text: documents, tokens, entropy, repetition."""

    def tables(files: list[Path], entry: str) -> dict:
        read = ((name, file, manifest.read(file)[entry]) for name, file in zip(labels, files, strict=True))
        return {name: read_table(manifest.verified(file, found)) for name, file, found in read}

    summary = corpus_summary(
        tables(corpora, "documents"), tables(blocks, "train"), tables(blocks, "held_out")
    )
    summary = summary.assign_coords(distribution_label=("distribution", list(labels.values())))
    write_dataset(summary.assign_attrs(attributes(**stamp())), output)


if __name__ == "__main__":
    run(main)
