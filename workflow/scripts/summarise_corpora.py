"""Summarise amount and predictability of the text of every distribution."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job_settings.text import SummariseCorpora
from rllc.store import manifest
from rllc.store.blocks import read_blocks
from rllc.store.datasets import write_dataset
from rllc.store.documents import read_documents
from rllc.store.provenance import attributes, stamp
from rllc.tasks.language.summary import corpus_summary


def main(settings: SummariseCorpora, code: str, output: Path) -> None:
    """Write one dataset over all distributions of text: documents, tokens, entropy, repetition."""
    documents = {name: read_documents(file) for name, file in settings.corpora.items()}
    sides = (
        {name: read_blocks(file, side) for name, file in settings.blocks.items()}
        for side in ("train", "held_out")
    )
    summary = corpus_summary(documents, *sides)
    summary = summary.assign_coords(distribution_label=("distribution", list(settings.labels.values())))
    inputs = {name: manifest.sha256(file) for name, file in settings.corpora.items()}
    facts = attributes(code=code, tokenizers=settings.tokenizers, inputs=inputs)
    write_dataset(summary.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
