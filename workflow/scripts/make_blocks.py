"""Blocks of tokens of one distribution, training and held-out side."""

from pathlib import Path

from rllc.record import manifest
from rllc.record.documents import read_documents
from rllc.record.stage import run
from rllc.record.store import whole
from rllc.tasks.language import documents
from rllc.tasks.language import tokenizer as tokenizers
from rllc.tasks.language.arrow import write_table
from rllc.tasks.language.blocks import blocks as cut


def main(
    corpus: Path, tokenizer: Path, trained_on: list[Path], settings: dict, stream: int, blocks: Path
) -> None:
    """Tokenize documents into blocks of one context each; no held-out document was trained on."""
    table = documents.never_trained_on(read_documents(corpus), map(read_documents, trained_on))
    encoder = tokenizers.load(tokenizer)
    entries = {}
    for side in ("train", "held_out"):
        made = cut(
            table, encoder, context=settings["context"], vocabulary_size=settings["vocabulary"],
            held_out=side == "held_out", limit=settings[f"{side}_blocks"], seed=stream,
        )  # fmt: skip
        file = blocks.with_name(f"{blocks.stem}.{side}.arrow")
        with whole(file) as temporary:
            write_table(made, temporary)
        entries[side] = manifest.file_entry(file, blocks=made.num_rows)
    manifest.write(blocks, bos=tokenizers.bos_id(encoder), vocabulary=settings["vocabulary"], **entries)


if __name__ == "__main__":
    run(main)
