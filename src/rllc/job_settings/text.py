"""Settings of jobs that turn text or generated data into blocks of tokens."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rllc.job_settings.functions import NamedFunction


@dataclass(frozen=True)
class ReadCorpus:
    """One source of text.

    kind      name of the reader: installed, files or hub
    keywords  keyword arguments of the reader
    held_out  share of documents
    versions  versions of the packages that determine the text
    """

    kind: str
    keywords: dict[str, Any]
    held_out: float
    versions: dict[str, str]


@dataclass(frozen=True)
class MixCorpora:
    """A mixture: distribution -> corpus, and distribution -> share of characters, in the same order."""

    corpora: dict[str, Path]
    weights: dict[str, float]
    stream: int


@dataclass(frozen=True)
class MakeTokenizer:
    """A tokenizer: the name of an existing one, or None and the size of the one to train."""

    pretrained: str | None
    vocabulary: int


@dataclass(frozen=True)
class MakeBlocks:
    """Blocks of text.

    context          tokens of a block
    vocabulary       tokens that the model knows
    train_blocks, held_out_blocks  largest number of blocks of each side
    bos              token that opens a block, as in ``rllc.tasks.language.tokenizer.opening``
    """

    context: int
    vocabulary: int
    train_blocks: int
    held_out_blocks: int
    stream: int
    bos: str | None


@dataclass(frozen=True)
class GenerateBlocks:
    """Blocks of a generated task.

    generator  function that makes the data
    keywords   keyword arguments of the generator
    train      number of training blocks; None: a training generates its minibatches itself
    """

    generator: NamedFunction
    keywords: dict[str, Any]
    train: int | None
    held_out: int
    stream: int


@dataclass(frozen=True)
class SummariseCorpora:
    """All texts in config order, each with its name in figures, corpus, tokenizer and blocks."""

    labels: dict[str, str]
    corpora: dict[str, Path]
    tokenizers: dict[str, str]
    blocks: dict[str, Path]
