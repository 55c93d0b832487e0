"""Blocks of exactly ``context`` tokens, the form in which a language model sees its text."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from rllc.seeds import generator
from rllc.tasks.arrow import as_lists, read_manifest, with_manifest
from rllc.tasks.language import tokenizer as tokenizers

BATCH_CHARACTERS = 2_000_000


def blocks(
    table: pa.Table,
    tokenizer: Tokenizer,
    *,
    context: int,
    held_out: bool,
    seed: int,
    vocabulary_size: int | None = None,
    limit: int | None = None,
    bos: str | None = None,
) -> pa.Table:
    """The training or held-out documents of ``table``, cut into shuffled blocks.

    As ``tokenize_and_concatenate`` of TransformerLens: documents are joined with BOS between them, the
    sequence is cut into pieces of ``context - 1`` tokens (the remainder is dropped), and each piece gets
    BOS in front.

    context          tokens per block, BOS included
    held_out         which side of the split
    seed             of the order of the blocks
    vocabulary_size  rows of the model's embedding, which every token id must be below
    limit            at most this many blocks, from the first documents of the table: a random sample of a
                     table made by collect, and of a mixture one that keeps its shares
    bos              the token that opens a block, where the tokenizer's own is not meant

    Returns a table with the column ``input_ids``, a list of ``context`` integers (uint16 up to a vocabulary
    of 65,536, else int32). Its manifest counts what was encoded: documents, characters, tokens (BOS between
    documents included).

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
    opening = tokenizers.bos_id(tokenizer, bos)
    dtype = np.uint16 if size <= 2**16 else np.int32
    side = table.filter(table["held_out"] if held_out else pc.invert(table["held_out"]))
    wanted = None if limit is None else limit * (context - 1)
    pieces: list[np.ndarray] = []
    tokens = documents = characters = 0
    for text, ids in _encoded(side, tokenizer, wanted):
        pieces += [np.asarray(ids, dtype), np.asarray([opening], dtype)]
        documents, characters, tokens = documents + 1, characters + len(text), tokens + len(ids) + 1
        if wanted is not None and tokens > wanted:
            break
    tokens = max(tokens - 1, 0)  # nothing follows the last document
    count = min(tokens // (context - 1), limit or tokens)
    if count == 0:
        raise ValueError(
            f"the {'held-out' if held_out else 'training'} text has {tokens} tokens, fewer than the "
            f"{context - 1} of one block: give more text, "
            f"{'a larger held_out_fraction, ' if held_out else ''}or a shorter context"
        )
    rows = np.concatenate(pieces)[: count * (context - 1)].reshape(count, context - 1)
    order = generator(seed, "blocks").permutation(count)
    ids = np.concatenate([np.full((count, 1), opening, dtype), rows[order]], axis=1)
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


def _encoded(table: pa.Table, tokenizer: Tokenizer, wanted: int | None) -> Iterator[tuple[str, list[int]]]:
    """Each text and its tokens, encoded in batches that are smaller where few tokens are wanted."""
    allowed = BATCH_CHARACTERS if wanted is None else min(BATCH_CHARACTERS, 3 * wanted)
    batch: list[str] = []
    size = 0
    for value in table["text"]:
        text = value.as_py()
        batch.append(text)
        size += len(text)
        if size >= allowed:
            yield from _encode(batch, tokenizer)
            batch, size = [], 0
    yield from _encode(batch, tokenizer)


def _encode(texts: list[str], tokenizer: Tokenizer) -> Iterator[tuple[str, list[int]]]:
    encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    yield from zip(texts, (encoding.ids for encoding in encodings), strict=True)
