"""Config sections of text: its sources, and its tokens."""

import re
from typing import Any, Literal

from pydantic import field_validator, model_validator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.tokenizer_files import known_size
from rllc.study.values import RLLC, Count, Distinct, Name, Positive, Seed, Share

SMALLEST = 257  # tokens of a byte-level tokenizer that is trained here


class Installed(ConfigModel):
    """Text that every machine has: the standard library and the installed, pinned packages."""

    source: Literal["installed"] = config_field("text that comes with Python and its packages")
    kind: Literal["prose", "code", "headers", "cython", "licences"] = config_field(
        "prose: English paragraphs of docstrings and docs; code: Python without docstrings; headers: C/C++; "
        "cython: .pyx, .pxd and .pxi; licences: what comes with a package as its licences and notices"
    )
    packages: Distinct[str] = config_field(
        "which packages, by distribution name; `stdlib` is the standard library", min_length=1
    )
    megabytes: Positive = config_field("reading stops at this much text", unit="MB")
    held_out: Share = config_field("share of documents, chosen by their hash, that no model is trained on")
    label: str = config_field("name in figures")


class Where(ConfigModel):
    """Rows of a source that count: those whose field matches."""

    field: str = config_field("field (column) that is looked at, text or a list of texts", min_length=1)
    matches: str = config_field(
        "regular expression, found anywhere in it unless anchored (^, $)", min_length=1
    )

    @field_validator("matches")
    @classmethod
    def _is_an_expression(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"{value!r} is not a regular expression ({error})") from None
        return value


class Files(ConfigModel):
    """Your own text or code."""

    source: Literal["files"] = config_field("text of your own files")
    path: str | Distinct[str] = config_field(
        "glob, or list of globs, relative to the repository root", min_length=1
    )
    field: str | None = config_field("for .jsonl: the field that holds the text", default=None)
    where: Where | None = config_field("for .jsonl: the lines that are read; null: all", default=None)
    held_out: Share = config_field("share of documents held out, by hash", default=0.2)
    label: str = config_field("name in figures")


class Hub(ConfigModel):
    """A data set of the Hugging Face hub (or a local folder that `datasets.load_dataset` reads)."""

    source: Literal["hub"] = config_field("text of a data set of the hub")
    name: str = config_field("data set, `owner/name`")
    config: str | None = config_field("its configuration", default=None)
    split: str = config_field("its split", default="train")
    field: str = config_field("the column that holds the text", default="text")
    revision: str | None = config_field("commit or tag; give one to pin the data", default=None)
    streaming: bool = config_field("read without downloading the whole data set", default=True)
    documents: Count = config_field(
        "reading stops after this many documents, of those that `where` lets through"
    )
    where: Where | None = config_field(
        "the rows that are read; null: all", source=f"{RLLC}, App. C.1: arXiv by category", default=None
    )
    held_out: Share = config_field("share of documents held out, by hash", default=0.1)
    label: str = config_field("name in figures")


class Mixture(ConfigModel):
    """Several distributions, interleaved by share of characters; for training."""

    source: Literal["mixture"] = config_field("text of other distributions, interleaved")
    weights: dict[Name, Positive] = config_field(
        "share of characters of each part; normalised to 1", min_length=1
    )
    label: str = config_field("name in figures")


class Predictions(ConfigModel):
    """Contexts of another distribution, with a trained model's predictions as targets."""

    source: Literal["model"] = config_field("predictions of a model that the study trains or imports")
    experiment: Name = config_field(
        "the teacher: its last checkpoint", source=f"{RLLC}, App. F.3 (reconstruction)"
    )
    seed: Seed = config_field("which of the teacher's seeds", default=0)
    contexts: Name = config_field("the distribution whose contexts are read")
    label: str = config_field("name in figures")


class TextTokens(ConfigModel):
    """Text to blocks of tokens."""

    vocabulary: int = config_field(
        "number of tokens, the start-of-text token included; with `pretrained` that of its tokenizer.json",
        ge=0,
        default=0,
    )
    corpus: Name | None = config_field("train a byte-level BPE on this distribution ...", default=None)
    pretrained: str | None = config_field(
        "... or take this one: a hub name or a path of a tokenizer.json", default=None
    )
    bos: str | None = config_field(
        "the token that opens every block. auto: what the tokenizer itself puts before a text (nothing with "
        "those of GPT-2 and Pythia, as in their training); known: its start token in any case; null: none",
        default="auto",
    )
    context: int = config_field("tokens in a block, start of text included", unit="tokens", ge=4)
    train_blocks: Count = config_field("at most this many blocks of training text")
    held_out_blocks: Count = config_field("at most this many blocks of held-out text")

    @model_validator(mode="before")
    @classmethod
    def _of_the_size_of_its_tokenizer(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(name := data.get("pretrained"), str):
            return {"vocabulary": known_size(name), **data}
        return data

    @model_validator(mode="after")
    def _one_origin(self) -> "TextTokens":
        if (self.corpus is None) == (self.pretrained is None):
            raise ValueError("give either `corpus` (to train one) or `pretrained` (to take one)")
        if self.pretrained is None and self.vocabulary < SMALLEST:
            raise ValueError(f"vocabulary: give at least {SMALLEST}, the 256 bytes and the start of text")
        return self

    @property
    def predictions(self) -> int:
        """Return the number of positions of a context whose prediction can be scored."""
        return self.context - 1
