"""Make blocks of tokens of one distribution, the training and the held-out side."""

from pathlib import Path

from rllc.job.stage import log, run
from rllc.job_settings.text import MakeBlocks
from rllc.store.blocks import held_out, write_blocks
from rllc.store.documents import read_documents
from rllc.tasks.arrow import read_manifest
from rllc.tasks.language import documents
from rllc.tasks.language import tokenizer as tokenizers
from rllc.tasks.language.blocks import blocks as cut


def main(settings: MakeBlocks, corpus: Path, tokenizer: Path, trained_on: list[Path], blocks: Path) -> None:
    """Tokenize documents into blocks of one context each; no held-out document was trained on."""
    table = documents.never_trained_on(read_documents(corpus), map(read_documents, trained_on))
    encoder, vocabulary = tokenizers.load(tokenizer), settings.vocabulary
    limits = {"train": settings.train_blocks, "held_out": settings.held_out_blocks}
    of = {
        "context": settings.context,
        "vocabulary_size": vocabulary,
        "seed": settings.stream,
        "bos": settings.bos,
    }
    sides = (
        (side, cut(table, encoder, held_out=side == "held_out", limit=limit, **of))
        for side, limit in limits.items()
    )
    about = read_manifest(table)
    text = {"read": about["documents"], "source": about.get("source", "mixture")}
    bos = tokenizers.opening(encoder, settings.bos)
    write_blocks(blocks, sides, bos=bos, vocabulary=vocabulary, text=text)
    held = held_out(blocks)
    log.info(
        "%s: documents %d, held out and used %d (%d tokens, different contexts %d)",
        blocks.stem, held["read"], held["documents"], held["tokens"], held["contexts"],
    )  # fmt: skip


if __name__ == "__main__":
    run(main)
