"""A tokenizer, trained or taken."""

from pathlib import Path

from rllc.record import manifest
from rllc.record.stage import run
from rllc.record.store import whole
from rllc.tasks.language import tokenizer
from rllc.tasks.language.arrow import read_table


def main(corpus: Path | None, pretrained: str | None, vocabulary: int, output: Path) -> None:
    """Train a byte-level BPE on a corpus' training documents, or take a named tokenizer."""
    if corpus is None:
        made = tokenizer.pretrained(pretrained)
    else:
        table = read_table(manifest.verified(corpus, manifest.read(corpus)["documents"]))
        made = tokenizer.train(table, vocabulary_size=vocabulary)
    with whole(output) as temporary:
        tokenizer.save(made, temporary)


if __name__ == "__main__":
    run(main)
