"""Make a tokenizer: train one, or take a named one."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job_settings.text import MakeTokenizer
from rllc.store.atomic_write import whole
from rllc.store.documents import read_documents
from rllc.tasks.language import tokenizer


def main(settings: MakeTokenizer, corpus: Path | None, output: Path) -> None:
    """Train a byte-level BPE on a corpus' training documents, or take a named tokenizer."""
    if corpus is None:
        made = tokenizer.pretrained(settings.pretrained)
    else:
        made = tokenizer.train(read_documents(corpus), vocabulary_size=settings.vocabulary)
    with whole(output) as temporary:
        tokenizer.save(made, temporary)


if __name__ == "__main__":
    run(main)
