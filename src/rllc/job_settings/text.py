"""Text and generated data, to blocks of tokens."""

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
    versions  of the packages that the text is a function of
    """

    kind: str
    keywords: dict[str, Any]
    held_out: float
    versions: dict[str, str]


@dataclass(frozen=True)
class MixCorpora:
    """A mixture: distribution -> its corpus, and its share of characters, both in one order."""

    corpora: dict[str, Path]
    weights: dict[str, float]
    stream: int


@dataclass(frozen=True)
class MakeTokenizer:
    """A tokenizer: the name of one that there is, or None, and the size of one that is trained."""

    pretrained: str | None
    vocabulary: int


@dataclass(frozen=True)
class MakeBlocks:
    """Blocks of text.

    context          tokens of a block
    vocabulary       tokens that the model knows
    train_blocks, held_out_blocks  at most so many of each side
    """

    context: int
    vocabulary: int
    train_blocks: int
    held_out_blocks: int
    stream: int


@dataclass(frozen=True)
class GenerateBlocks:
    """Blocks of a generated task.

    generator  function that makes the data
    keywords   keyword arguments of the generator
    train      blocks; None: a training makes its minibatches itself
    """

    generator: NamedFunction
    keywords: dict[str, Any]
    train: int | None
    held_out: int
    stream: int


@dataclass(frozen=True)
class SummariseCorpora:
    """All texts, in config order: name in figures, corpus, tokenizer and blocks of each."""

    labels: dict[str, str]
    corpora: dict[str, Path]
    tokenizers: dict[str, str]
    blocks: dict[str, Path]
