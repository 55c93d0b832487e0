"""What is read: distributions and tokenizers."""

import math
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from rllc.study.section import Section, key
from rllc.study.values import RLLC, Count, Name, Positive, Seed, Share


class Installed(Section):
    """Text that every machine has: the standard library and the installed, pinned packages."""

    source: Literal["installed"] = key("text that comes with Python and its packages")
    kind: Literal["prose", "code", "headers"] = key(
        "prose: English paragraphs of docstrings and docs; code: Python without docstrings; headers: C/C++"
    )
    packages: list[str] = key("which packages, by distribution name; `stdlib` is the standard library")
    megabytes: Positive = key("reading stops at this much text", unit="MB")
    held_out: Share = key("share of documents, chosen by their hash, that no model is trained on")
    label: str = key("name in figures")


class Files(Section):
    """Your own text or code."""

    source: Literal["files"] = key("text of your own files")
    path: str | list[str] = key("glob, or list of globs, relative to the repository root")
    field: str | None = key("for .jsonl: the field that holds the text", default=None)
    held_out: Share = key("share of documents held out, by hash", default=0.2)
    label: str = key("name in figures")


class Hub(Section):
    """A data set of the Hugging Face hub (or a local folder that `datasets.load_dataset` reads)."""

    source: Literal["hub"] = key("text of a data set of the hub")
    name: str = key("data set, `owner/name`")
    config: str | None = key("its configuration", default=None)
    split: str = key("its split", default="train")
    field: str = key("the column that holds the text", default="text")
    revision: str | None = key("commit or tag; give one to pin the data", default=None)
    streaming: bool = key("read without downloading the whole data set", default=True)
    documents: Count = key("reading stops after this many documents")
    held_out: Share = key("share of documents held out, by hash", default=0.1)
    label: str = key("name in figures")


class Mixture(Section):
    """Several distributions, interleaved by share of characters; for training."""

    source: Literal["mixture"] = key("text of other distributions, interleaved")
    weights: dict[Name, Positive] = key("share of characters of each part; normalised to 1", min_length=1)
    label: str = key("name in figures")


class Model(Section):
    """Contexts of another distribution, with a trained model's predictions as targets."""

    source: Literal["model"] = key("predictions of a model that the study trains or imports")
    experiment: Name = key("the teacher: its last checkpoint", source=f"{RLLC}, App. F.3 (reconstruction)")
    seed: Seed = key("which of the teacher's seeds", default=0)
    contexts: Name = key("the distribution whose contexts are read")
    label: str = key("name in figures")


class Lists(Section):
    """Lists of different numbers, a separator, and the sorted list, which is to be predicted."""

    source: Literal["lists"] = key("generated lists to sort; needs a tokenizer of `numbers` and `length`")
    swap: float = key(
        "the sorted list is perturbed: from left to right, neighbours a < b are swapped with probability "
        "swap / (b - a)",
        ge=0, le=1, source="the post: 0.4", default=0.0,
    )  # fmt: skip
    label: str = key("name in figures")


class Sums(Section):
    """Sequences of numbers; the sign of the sum so far is to be predicted at each."""

    source: Literal["sums"] = key("generated sequences to sum; needs a tokenizer of `largest` and `length`")
    label: str = key("name in figures")


Distribution = Annotated[
    Installed | Files | Hub | Mixture | Model | Lists | Sums, Field(discriminator="source")
]


class TextTokens(Section):
    """Text to blocks of tokens."""

    vocabulary: int = key("number of tokens, the start-of-text token included", ge=257)
    corpus: Name | None = key("train a byte-level BPE on this distribution ...", default=None)
    pretrained: str | None = key(
        "... or take this one: a hub name or a path of a tokenizer.json", default=None
    )
    context: int = key("tokens in a block, start of text included", unit="tokens", ge=4)
    train_blocks: Count = key("at most this many blocks of training text")
    held_out_blocks: Count = key("at most this many blocks of held-out text")

    @model_validator(mode="after")
    def _one_origin(self) -> "Tokenizer":
        if (self.corpus is None) == (self.pretrained is None):
            raise ValueError("give either `corpus` (to train one) or `pretrained` (to take one)")
        return self

    @property
    def predictions(self) -> int:
        """Positions of a context whose prediction can be scored."""
        return self.context - 1


class ListTokens(Section):
    """Numbers as tokens: 0 .. numbers - 1 and a separator."""

    numbers: int = key("how many numbers there are", ge=2, source="the post: 51")
    length: int = key("numbers in a list, all different", ge=2, source="the post: 10")
    train_blocks: Count = key("lists that are trained on", source="the recipe that the post took: 150,000")
    held_out_blocks: Count = key("other lists, that everything is measured on")

    @model_validator(mode="after")
    def _long_enough(self) -> "ListTokens":
        if self.length > self.numbers:
            raise ValueError(
                f"a list of {self.length} different numbers needs at least {self.length} numbers, "
                f"not {self.numbers}: lower `length` or raise `numbers`"
            )
        blocks, possible = self.train_blocks + self.held_out_blocks, math.perm(self.numbers, self.length)
        if possible < 2 * blocks:
            raise ValueError(
                f"there are {possible:,} lists of {self.length} of {self.numbers} numbers; {blocks:,} blocks "
                "need twice as many: raise `length` or `numbers`, or ask for fewer blocks"
            )
        return self

    @property
    def vocabulary(self) -> int:
        """Tokens: the numbers and the separator."""
        return self.numbers + 1

    @property
    def context(self) -> int:
        """Tokens of a block: the list, the separator, the sorted list."""
        return 2 * self.length + 1

    @property
    def predictions(self) -> int:
        """Positions whose prediction is scored: the sorted list's."""
        return self.length


class SumTokens(Section):
    """Numbers as tokens, from -largest to largest, and three answers: negative, zero, positive."""

    largest: Count = key("numbers are drawn from -largest to largest")
    length: int = key("numbers in a sequence", ge=2)
    train_blocks: Count = key("sequences that are trained on")
    held_out_blocks: Count = key("other sequences, that everything is measured on")

    @property
    def vocabulary(self) -> int:
        """Tokens: the numbers and the answers."""
        return 2 * self.largest + 4

    @property
    def context(self) -> int:
        """Tokens of a block."""
        return self.length

    @property
    def predictions(self) -> int:
        """Positions whose prediction is scored: all."""
        return self.length


def _form(entry: object) -> str:
    """Which section an entry is read as: by the key that only one of them has."""
    has = entry.__contains__ if isinstance(entry, dict) else lambda name: hasattr(entry, name)
    return "numbers" if has("numbers") else "largest" if has("largest") else "vocabulary"


Tokenizer = Annotated[
    Annotated[TextTokens, Tag("vocabulary")]
    | Annotated[ListTokens, Tag("numbers")]
    | Annotated[SumTokens, Tag("largest")],
    Discriminator(_form),
]
