"""Byte-level BPE tokenizers: trained here on a table's training documents, or pretrained.

The same text gives the same tokenizer and tokens for any ``TOKENIZERS_PARALLELISM`` and number of threads.
Setting that variable to ``false`` limits the library to one thread.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from rllc.tasks.language.documents import texts_of
from rllc.tasks.language.pieces import BOUNDARY, UNBROKEN, pieces, without_long_runs

log = logging.getLogger("rllc")
# pyarrow creates the functions of this module at import, so type checkers do not know them.
pc: Any = pyarrow.compute

BOS = "<|bos|>"
# The BOS tokens of pretrained tokenizers, most specific first.
KNOWN_BOS = (BOS, "<|begin_of_text|>", "<|startoftext|>", "<s>", "<bos>", "<|endoftext|>")
SMALLEST_VOCABULARY = 257


def train(table: pa.Table, *, vocabulary_size: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer of at most ``vocabulary_size`` tokens, the first ``<|bos|>``.

    It learns from the training documents of ``table``, in order. Text with fewer possible merges gives fewer
    tokens. Every byte has a token, so any text can be encoded.

    Raises ValueError below 257 tokens (256 bytes and ``<|bos|>``), or without a training document.
    """
    if vocabulary_size < SMALLEST_VOCABULARY:
        raise ValueError(
            f"a vocabulary of {vocabulary_size} cannot hold the 256 bytes and {BOS}: "
            f"expected at least {SMALLEST_VOCABULARY}"
        )
    if not pc.any(pc.invert(table["held_out"])).as_py():
        raise ValueError("the table has no training document to learn a tokenizer from")
    return learnt(texts_of(table, held_out=False), vocabulary_size)


def learnt(texts: Iterable[str], vocabulary_size: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer learnt from texts, with tokens in the order of learning.

    Runs of letters, digits, signs or white space of more than 10,000 characters are cut into pieces of
    10,000, since merging pairs in a longer run takes minutes.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[BOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_to_learn_from(texts), trainer)
    return _plain(tokenizer)


def _to_learn_from(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts in pieces; log a warning for a text with runs that are cut."""
    for text in texts:
        cut = 0
        for piece in pieces(text, BOUNDARY):
            found, runs = without_long_runs(piece)
            cut += runs
            yield from found
        if cut:
            log.warning(
                "a text of %d characters (%r ...) has %d runs of more than %d letters, digits, signs or "
                "spaces without a break: the tokenizer is learnt from pieces of them",
                len(text), text[:40], cut, UNBROKEN,
            )  # fmt: skip


def save(tokenizer: Tokenizer, path: str | PathLike[str]) -> None:
    """Write the tokenizer as the text of a ``tokenizer.json``."""
    Path(path).write_text(tokenizer.to_str(pretty=True) + "\n", encoding="utf-8")


def load(path: str | PathLike[str]) -> Tokenizer:
    """Return the tokenizer in a ``tokenizer.json``. Raises ValueError for another file."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        return _plain(Tokenizer.from_str(text))
    except Exception as error:  # tokenizers raises plain Exception
        raise ValueError(f"{path} is not a tokenizer.json ({error})") from error


def pretrained(name_or_path: str, *, revision: str = "main") -> Tokenizer:
    """Return the tokenizer of a hub repository, or of a local ``tokenizer.json`` or its folder.

    Of the hub, the file in its cache is read if there is one, so that a plan and its jobs see the same file.

    Raises ValueError where it cannot be loaded.
    """
    path = Path(name_or_path).expanduser()
    if path.is_dir() and (path / "tokenizer.json").is_file():
        return load(path / "tokenizer.json")
    if path.is_file():
        return load(path)
    if path.is_dir() or path.suffix == ".json":
        raise ValueError(f"there is no tokenizer.json at {name_or_path}: expected the file or its folder")
    try:
        return load(_of_the_hub(name_or_path, revision))
    except Exception as error:  # of the hub and of its client for HTTP, which depends on its version
        reason = str(error).strip().splitlines()
        raise ValueError(
            f"tokenizer {name_or_path!r} could not be loaded from the hub "
            f"({reason[0] if reason else error!r}). Check its name and revision; without a network, download "
            "its tokenizer.json on a machine that has one and give the path, or train a tokenizer on the "
            "study's own text"
        ) from error


def _of_the_hub(name: str, revision: str) -> str:
    """Return the tokenizer.json of a repository in the cache of the hub, where it is fetched if missing."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    found = try_to_load_from_cache(name, "tokenizer.json", revision=revision)
    return found if isinstance(found, str) else hf_hub_download(name, "tokenizer.json", revision=revision)


def bos_id(tokenizer: Tokenizer, token: str | None = None) -> int:
    """Return the id of ``token``, or of the tokenizer's BOS token.

    Raises ValueError where the tokenizer has no such token.
    """
    spellings = KNOWN_BOS if token is None else (token,)
    for spelling in spellings:
        found = tokenizer.token_to_id(spelling)
        if found is not None:
            return found
    raise ValueError(
        f"the tokenizer has none of the tokens {list(spellings)} to open a block with: "
        "give a tokenizer that has one of them"
    )


def opening(tokenizer: Tokenizer, bos: str | None) -> int | None:
    """Return the id of the token that opens every block; None: blocks have no such token.

    bos  None: none. "auto": ``<|bos|>`` of a tokenizer that was trained here; else what the tokenizer itself
         puts before a text, which is nothing for those of GPT-2 and Pythia. "known": the tokenizer's start
         token, even if it does not put it there. Else this token

    Raises ValueError where the tokenizer has no such token.
    """
    if bos is None:
        return None
    if bos == "known":
        return bos_id(tokenizer)
    if bos != "auto":
        return bos_id(tokenizer, bos)
    own = tokenizer.token_to_id(BOS)
    if own is not None:
        return own
    plain, whole = (tokenizer.encode("a", add_special_tokens=special).ids for special in (False, True))
    return whole[0] if whole[:1] != plain[:1] else None


def separator(tokenizer: Tokenizer) -> int | None:
    """Return the id of the token between documents: the start token, or None where there is none."""
    try:
        return bos_id(tokenizer)
    except ValueError:
        return None


def vocabulary_size(tokenizer: Tokenizer) -> int:
    """Return the number of rows an embedding needs: the largest token id plus 1."""
    return max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1


def _plain(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer without truncation or padding; ``<|bos|>`` in a text is encoded as characters."""
    tokenizer.encode_special_tokens = True
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def token_bytes(tokenizer: Tokenizer) -> list[bytes | None]:
    """Return the bytes of every token, by id; None for special tokens and for ids without a token.

    Raises ValueError for a tokenizer that is not byte-level, since its tokens are not bytes of the text.
    """
    decoder = json.loads(tokenizer.to_str()).get("decoder") or {}
    if "ByteLevel" not in [part.get("type") for part in (decoder, *decoder.get("decoders", ()))]:
        raise ValueError(
            f"the tokenizer's decoder is {decoder.get('type')}: expected a byte-level one (ByteLevel), since "
            "patterns are matched in the text of the tokens; set `tokens: null` in the experiment"
        )
    special = {id for id, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    table: list[bytes | None] = [None] * vocabulary_size(tokenizer)
    for token, id in tokenizer.get_vocab(with_added_tokens=True).items():
        if id not in special:
            table[id] = b"".join(BYTES.get(character) or character.encode() for character in token)
    return table


def _byte_alphabet() -> dict[str, bytes]:
    """Return the byte of each character that byte-level tokenizers write.

    A printable byte is written as its own character, the others as the characters from U+0100 on, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    characters = [*map(chr, printable), *(chr(0x100 + n) for n in range(len(others)))]
    return {c: bytes([byte]) for c, byte in zip(characters, [*printable, *others], strict=True)}


BYTES = _byte_alphabet()
