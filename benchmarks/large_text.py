"""Memory of each stage from one large text to blocks of tokens, beside the same text as many documents.

python benchmarks/large_text.py [megabytes] [> benchmarks/large_text.md]

The text is the source of the installed packages, in one file or in files of 1,000 characters. Every stage is
the workflow's own script in a process of its own; its peak memory is what the system says of the process.
"""

import json
import multiprocessing
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path

SMALL = 1000  # characters of a document
STAGES = ("read_corpus", "make_tokenizer", "make_blocks", "mix_corpora", "summarise_corpora")


def source(characters: int) -> str:
    """So many characters of the installed packages' Python source."""

    def texts() -> Iterator[str]:
        for folder in dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "stdlib")):
            for file in sorted(Path(folder).rglob("*.py")):
                yield file.read_text(encoding="utf-8", errors="ignore")

    found, length = [], 0
    while length < characters:
        for text in islice(texts(), 100_000):
            found.append(text)
            length += len(text)
            if length >= characters:
                break
    return "".join(found)[:characters]


def write(folder: Path, characters: int, length: int) -> None:
    """Files of so many characters each, and thirty short ones: both sides of the split need documents."""
    text = source(characters)
    for number, start in enumerate(range(0, len(text), length)):
        (folder / f"{number}.txt").write_text(text[start : start + length], encoding="utf-8")
    for number in range(30):
        extra = text[number * 9973 : number * 9973 + 1000]
        (folder / f"extra {number}.txt").write_text(extra, encoding="utf-8")


def measured(script: str, **flags: object) -> tuple[float, float]:
    """Peak megabytes and CPU seconds of one script."""
    given: list[str] = []
    for name, value in flags.items():
        given += [f"--{name}", json.dumps(value) if isinstance(value, dict) else str(value)]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, f"workflow/scripts/{script}.py", *given], stdout=said, stderr=said,
            env=os.environ | {"PYTHONPATH": "src", "TOKENIZERS_PARALLELISM": "false"},
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        if status:
            said.seek(0)
            sys.exit(f"{script} failed:\n{said.read()[-2000:]}")
    return used.ru_maxrss / 1e3, used.ru_utime + used.ru_stime


def stages(folder: Path) -> Iterator[tuple[float, float]]:
    """Peak megabytes and CPU seconds of each of ``STAGES``, for the files in a folder."""
    corpus, tokenizer, blocks = (
        folder / "text.json",
        folder / "tokenizer.json",
        folder / "blocks" / "text.json",
    )
    given = {"source": "files", "path": str(folder / "texts" / "*")}
    yield measured("read_corpus", source=given, held_out=0.3, versions={}, corpus=corpus)
    yield measured("make_tokenizer", corpus=corpus, pretrained="", vocabulary=4096, output=tokenizer)
    settings = {"context": 128, "vocabulary": 4096, "train_blocks": 10_000_000, "held_out_blocks": 100}
    yield measured(
        "make_blocks", corpus=corpus, tokenizer=tokenizer, trained_on=corpus, settings=settings, stream=1,
        blocks=blocks,
    )  # fmt: skip
    yield measured("mix_corpora", parts=corpus, weights={"text": 1.0}, stream=1, corpus=folder / "mixed.json")
    yield measured(
        "summarise_corpora", corpora=corpus, blocks=blocks, labels={"text": "text"},
        tokenizers={"text": "bpe"}, output=folder / "corpus.nc",
    )  # fmt: skip


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    characters = megabytes * 10**6
    rows = {}
    for name, length in (("one text", characters), (f"texts of {SMALL:,} characters", SMALL)):
        with tempfile.TemporaryDirectory() as made:
            texts = Path(made, "texts")
            texts.mkdir()
            # In a process of its own: what a process had before it became a script counts as the script's.
            writing = multiprocessing.get_context("spawn").Process(
                target=write, args=(texts, characters, length)
            )
            writing.start()
            writing.join()
            rows[name] = list(stages(Path(made)))
    print(
        f"# One large text\n\n`python benchmarks/large_text.py {megabytes}`, on {time.strftime('%Y-%m-%d')}; "
        f"Python {platform.python_version()}, tokenizers {version('tokenizers')}, pyarrow "
        f"{version('pyarrow')}, one core.\n\n{megabytes} million characters of source code, as one file and "
        "as many: peak memory (MB) and CPU seconds of each stage.\n"
    )
    print(f"| stage | {' | '.join(f'{name}: MB | s' for name in rows)} |\n|---|{'---|---|' * len(rows)}")
    for number, stage in enumerate(STAGES):
        cells = " | ".join(f"{rows[name][number][0]:,.0f} | {rows[name][number][1]:,.0f}" for name in rows)
        print(f"| `{stage}` | {cells} |")


if __name__ == "__main__":
    main()
