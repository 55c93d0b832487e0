"""Blocks of exactly ``context`` tokens, the inputs of a language model."""

import logging
from collections.abc import Iterator
from itertools import groupby

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from rllc.seeds import generator
from rllc.tasks.arrow import as_lists, read_manifest, with_manifest
from rllc.tasks.language import tokenizer as tokenizers
from rllc.tasks.language.documents import texts_of
from rllc.tasks.language.pieces import boundary, pieces

log = logging.getLogger("rllc")

BATCH_CHARACTERS = 2_000_000
BYTES_PER_CHARACTER = 140  # of memory, while a piece is encoded


def blocks(
    table: pa.Table,
    tokenizer: Tokenizer,
    *,
    context: int,
    held_out: bool,
    seed: int,
    vocabulary_size: int | None = None,
    limit: int | None = None,
    bos: str | None = "auto",
) -> pa.Table:
    """Cut the training or held-out documents of ``table`` into shuffled blocks, and return their table.

    This follows ``tokenize_and_concatenate`` of TransformerLens: join documents with BOS between them, cut
    the sequence into pieces of ``context - 1`` tokens (drop the remainder), and put BOS before each piece.
    Without BOS, pieces have ``context`` tokens. The start token of the tokenizer still parts documents, as in
    the training data of GPT-2 and Pythia, if it has one.

    context          tokens per block, BOS included
    held_out         whether to use the held-out or the training side of the split
    seed             seed of the order of the blocks
    vocabulary_size  rows of the model's embedding; every token id must be smaller
    limit            at most this many blocks, from the first documents of the table. These are a random
                     sample of a table made by ``collect``, and keep the shares of a mixture
    bos              the token that opens a block, as in ``tokenizer.opening``

    Returns a table with the column ``input_ids``, a list of ``context`` integers (uint16 up to a vocabulary
    of 65,536, else int32). Its manifest counts the encoded documents, characters and tokens (including BOS
    between documents).

    Raises ValueError where the text is shorter than one block, or the tokenizer has more tokens than
    ``vocabulary_size``.
    """
    if context < 2:
        raise ValueError(f"context is {context}; expected at least 2 tokens, BOS and one more")
    if limit is not None and limit < 1:
        raise ValueError(f"limit is {limit}; expected at least 1 block, or none for all")
    size = tokenizers.vocabulary_size(tokenizer)
    if vocabulary_size is not None and size > vocabulary_size:
        raise ValueError(
            f"the tokenizer has {size} tokens, the model's vocabulary {vocabulary_size}: "
            "raise the model's vocabulary or train a smaller tokenizer"
        )
    opening = tokenizers.opening(tokenizer, bos)
    parting = tokenizers.separator(tokenizer) if opening is None else opening
    between = [] if parting is None else [parting]
    free = context if opening is None else context - 1  # tokens of a block beside BOS
    dtype = np.uint16 if size <= 2**16 else np.int32
    wanted = None if limit is None else limit * free
    found: list[np.ndarray] = []
    tokens = documents = characters = 0
    for length, ids in _encoded(texts_of(table, held_out=held_out), tokenizer, wanted, dtype):
        found += [ids, np.asarray(between, dtype)]
        documents, characters = documents + 1, characters + length
        tokens += len(ids) + len(between)
        if wanted is not None and tokens > wanted:
            break
    tokens = max(tokens - len(between), 0)  # nothing follows the last document
    count = min(tokens // free, limit or tokens)
    if count == 0:
        raise ValueError(
            f"the {'held-out' if held_out else 'training'} text has {tokens} tokens, fewer than the "
            f"{free} of one block: give more text, "
            f"{'a larger held_out_fraction, ' if held_out else ''}or a shorter context"
        )
    rows = np.concatenate(found)[: count * free].reshape(count, free)
    order = generator(seed, "blocks").permutation(count)
    first = [] if opening is None else [np.full((count, 1), opening, dtype)]
    ids = np.concatenate([*first, rows[order]], axis=1)
    about = {
        "blocks": count,
        "context": context,
        "held_out": held_out,
        "documents": documents,
        "characters": characters,
        "tokens": tokens,
        "bos": opening,
        "vocabulary": size,
        "seed": seed,
        "text": read_manifest(table)["sha256"],
    }
    return with_manifest(pa.table({"input_ids": as_lists(ids)}), about)


def _encoded(
    texts: Iterator[str], tokenizer: Tokenizer, wanted: int | None, dtype: type
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the length of each text and its tokens. A small ``wanted`` makes the batches smaller."""
    where = boundary(tokenizer)
    divided = ((number, piece) for number, text in enumerate(texts) for piece in pieces(text, where))
    allowed = BATCH_CHARACTERS if wanted is None else min(BATCH_CHARACTERS, 3 * wanted)
    batches = _batches(divided, allowed)
    encoded = (each for batch in batches for each in _encode(batch, tokenizer, dtype))
    for _, parts in groupby(encoded, key=lambda each: each[0]):
        _, lengths, ids = zip(*parts, strict=True)
        yield sum(lengths), np.concatenate(ids)


def _batches(divided: Iterator[tuple[int, str]], allowed: int) -> Iterator[list[tuple[int, str]]]:
    """Yield lists of pieces of about ``allowed`` characters each."""
    batch: list[tuple[int, str]] = []
    size = 0
    for number, piece in divided:
        if len(piece) > BATCH_CHARACTERS:
            log.warning(
                "%d characters of one text are encoded as a whole, which takes about %d MB of memory: either "
                "they hold no white space after a letter, or the tokenizer may look across it",
                len(piece), BYTES_PER_CHARACTER * len(piece) / 1e6,
            )  # fmt: skip
        batch.append((number, piece))
        size += len(piece)
        if size >= allowed:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _encode(
    batch: list[tuple[int, str]], tokenizer: Tokenizer, dtype: type
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield the text number, the length and the tokens of each piece."""
    encodings = tokenizer.encode_batch_fast([piece for _, piece in batch], add_special_tokens=False)
    for (number, piece), encoding in zip(batch, encodings, strict=True):
        yield number, len(piece), np.asarray(encoding.ids, dtype)
