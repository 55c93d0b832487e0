"""Config sections of text: its sources, and its tokens."""

import re
from typing import Literal

from pydantic import field_validator, model_validator

from rllc.study.section import Section, key
from rllc.study.values import RLLC, Count, Distinct, Name, Positive, Seed, Share


class Installed(Section):
    """Text that every machine has: the standard library and the installed, pinned packages."""

    source: Literal["installed"] = key("text that comes with Python and its packages")
    kind: Literal["prose", "code", "headers", "cython", "licences"] = key(
        "prose: English paragraphs of docstrings and docs; code: Python without docstrings; headers: C/C++; "
        "cython: .pyx, .pxd and .pxi; licences: what comes with a package as its licences and notices"
    )
    packages: Distinct[str] = key(
        "which packages, by distribution name; `stdlib` is the standard library", min_length=1
    )
    megabytes: Positive = key("reading stops at this much text", unit="MB")
    held_out: Share = key("share of documents, chosen by their hash, that no model is trained on")
    label: str = key("name in figures")


class Where(Section):
    """Rows of a source that count: those whose field matches."""

    field: str = key("field (column) that is looked at, text or a list of texts", min_length=1)
    matches: str = key("regular expression, found anywhere in it unless anchored (^, $)", min_length=1)

    @field_validator("matches")
    @classmethod
    def _is_an_expression(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"{value!r} is not a regular expression ({error})") from None
        return value


class Files(Section):
    """Your own text or code."""

    source: Literal["files"] = key("text of your own files")
    path: str | Distinct[str] = key("glob, or list of globs, relative to the repository root", min_length=1)
    field: str | None = key("for .jsonl: the field that holds the text", default=None)
    where: Where | None = key("for .jsonl: the lines that are read; null: all", default=None)
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
    documents: Count = key("reading stops after this many documents, of those that `where` lets through")
    where: Where | None = key(
        "the rows that are read; null: all", source=f"{RLLC}, App. C.1: arXiv by category", default=None
    )
    held_out: Share = key("share of documents held out, by hash", default=0.1)
    label: str = key("name in figures")


class Mixture(Section):
    """Several distributions, interleaved by share of characters; for training."""

    source: Literal["mixture"] = key("text of other distributions, interleaved")
    weights: dict[Name, Positive] = key("share of characters of each part; normalised to 1", min_length=1)
    label: str = key("name in figures")


class Predictions(Section):
    """Contexts of another distribution, with a trained model's predictions as targets."""

    source: Literal["model"] = key("predictions of a model that the study trains or imports")
    experiment: Name = key("the teacher: its last checkpoint", source=f"{RLLC}, App. F.3 (reconstruction)")
    seed: Seed = key("which of the teacher's seeds", default=0)
    contexts: Name = key("the distribution whose contexts are read")
    label: str = key("name in figures")


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
    def _one_origin(self) -> "TextTokens":
        if (self.corpus is None) == (self.pretrained is None):
            raise ValueError("give either `corpus` (to train one) or `pretrained` (to take one)")
        return self

    @property
    def predictions(self) -> int:
        """Return the number of positions of a context whose prediction can be scored."""
        return self.context - 1
