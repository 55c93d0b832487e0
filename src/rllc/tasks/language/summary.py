"""Summarise a study's texts: size and statistics of each distribution."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import xarray as xr

from rllc.tasks.arrow import as_array, read_manifest
from rllc.vocabulary import NATS, describe

VARIABLES = {
    "documents": ("distinct documents", "1"),
    "held_out_documents": ("distinct documents held out", "1"),
    "characters": ("characters of all documents", "1"),
    "tokens": ("tokens in training blocks, BOS included", "1"),
    "held_out_tokens": ("tokens in held-out blocks, BOS included", "1"),
    "characters_per_token": ("characters per token of the training text", "1"),
    "unigram_entropy": ("entropy of the token frequencies of training blocks, BOS left out", NATS),
    "repeated_share": ("share of tokens that occurred before in the same training block", "1"),
}
ROWS = 8192


def corpus_summary(
    documents: Mapping[str, pa.Table], training: Mapping[str, pa.Table], held_out: Mapping[str, pa.Table]
) -> xr.Dataset:
    """Return size and statistics of each distribution's text.

    documents  tables of documents (collect or mix), by distribution
    training   tables of training blocks, by the same names
    held_out   tables of held-out blocks, by the same names

    Returns dim ``distribution``: documents, held_out_documents, characters, tokens, held_out_tokens,
    characters_per_token, ``unigram_entropy = -sum_v p_v ln p_v`` (nats/token) and ``repeated_share``, an
    upper bound on the share of tokens that copying from the block can predict.

    Raises ValueError where the three have different distributions.
    """
    if not set(documents) == set(training) == set(held_out):
        raise ValueError(
            f"documents, training and held-out blocks are given for {sorted(documents)}, {sorted(training)} "
            f"and {sorted(held_out)}: expected the same distributions"
        )
    rows = []
    for name in documents:
        text, encoded = read_manifest(documents[name]), read_manifest(training[name])
        ids = as_array(training[name])
        rows.append(
            {
                "documents": text["documents"],
                "held_out_documents": text["held_out_documents"],
                "characters": text["characters"],
                "tokens": ids.size,
                "held_out_tokens": as_array(held_out[name]).size,
                "characters_per_token": encoded["characters"] / encoded["tokens"],
                "unigram_entropy": unigram_entropy(ids, bos=encoded["bos"]),
                "repeated_share": repeated_share(ids, bos=encoded["bos"]),
            }
        )
    columns = {key: ("distribution", np.asarray([row[key] for row in rows])) for key in VARIABLES}
    names = np.asarray(list(documents), dtype=object)
    return describe(xr.Dataset(columns, {"distribution": names}), VARIABLES)


def unigram_entropy(ids: np.ndarray, *, bos: int | None) -> float:
    """Return ``-sum_v p_v ln p_v`` over the tokens of ``ids`` [blocks, context] except ``bos``, in nats."""
    counts = np.bincount(ids.reshape(-1)).astype(float)
    if bos is not None:
        counts[bos] = 0
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log(p)).sum())


def repeated_share(ids: np.ndarray, *, bos: int | None) -> float:
    """Return the share of the tokens of ``ids`` [blocks, context] that occur earlier in their block.

    BOS does not count. A block starts with ``bos`` (None: with no such token), so the repeats are its other
    tokens minus the distinct ones.
    """
    repeats = total = 0
    for start in range(0, len(ids), ROWS):
        block = np.sort(ids[start : start + ROWS], axis=1)
        distinct = np.count_nonzero(block[:, 1:] != block[:, :-1])  # less one, which is BOS where it is there
        if bos is None:
            distinct += len(block)
        others = block.size if bos is None else np.count_nonzero(block != bos)
        repeats += others - distinct
        total += others
    return repeats / total
