"""What each next token of held-out text costs a checkpoint, and of which kind it is (arXiv 2402.02364).

The prediction made at position p, 0 being BOS, is scored on token p + 1, the token of position p here.
"""

from codecs import getincrementaldecoder
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import torch
import xarray as xr

from rllc.measures.data import Data, Measurement
from rllc.measures.most_affected import Contexts
from rllc.measures.tokens.kernel import visible
from rllc.models import loss
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch
from rllc.tasks.language.tokenizer import token_bytes

KINDS = {
    "text": "text of the token, with all of a character that it shares with those behind it",
    "joined": "position of the token whose text has this one's; its own, unless they share a character",
    "second": "whether it is the second token of a word",
    "repeated": "whether it and the token before it came before in this order in the context",
}


def token_losses(data: Data, *, contexts: int, batch_size: int) -> Measurement:
    """``by_token`` of the first ``contexts`` held-out contexts, ``batch_size`` at once."""
    texts = data.contexts(contexts)
    known = kinds(texts, token_bytes(data.encoder))

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        batches = Contexts(texts, batch_size, next(iter(weights.values())).device)
        return by_token(weights, batches, model=model).assign_coords(known)

    return measure


@torch.no_grad()
def by_token(weights: Weights, batches: Iterable[Batch], *, model: Model) -> xr.Dataset:
    """``loss`` -log p(token) in nats and ``logit`` of every next token: float32 (context, position).

    A logit has an offset that is free at each position, the loss has none.
    """
    losses, logits = [], []
    for batch in batches:
        outputs = model.outputs(weights, batch)
        losses.append(loss.token_losses(outputs, batch.targets).float().cpu())
        logits.append(outputs.gather(-1, batch.targets[..., None])[..., 0].float().cpu())
    found = {"loss": losses, "logit": logits}
    return xr.Dataset({n: (("context", "position"), torch.cat(parts).numpy()) for n, parts in found.items()})


def kinds(contexts: np.ndarray, pieces: Sequence[bytes | None]) -> dict[str, tuple]:
    """Coordinates (context, position) of the next tokens of ``contexts`` [contexts, length]: ``KINDS``.

    A word goes on where a token that begins with a letter follows one that ends with a letter.

    pieces  bytes of every token, None of special ones (``rllc.tasks.language.tokenizer.token_bytes``)
    """
    goes_on = _goes_on(contexts, pieces)
    second = goes_on[:, 1:] & ~goes_on[:, :-1]
    repeated = np.asarray([_repeated(row) for row in contexts.tolist()])
    written = [texts([pieces[token] for token in row[1:]]) for row in contexts.tolist()]
    values = {
        "text": np.asarray([words for words, _ in written], dtype=object),
        "joined": np.asarray([first for _, first in written], dtype=np.int32),
        "second": second.astype(np.int8),
        "repeated": repeated.astype(np.int8),
    }
    return {n: (("context", "position"), values[n], {"long_name": words}) for n, words in KINDS.items()}


def texts(pieces: Sequence[bytes | None]) -> tuple[list[str], list[int]]:
    """The text of each token and the place of the token that has it.

    Tokens that divide a character among them are one text, which the first of them has; the others have "".
    """
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    words, places, first = [""] * len(pieces), [], 0
    begun: list[bytes] = []  # what has been read of the text at `first`
    for n, piece in enumerate(pieces):
        if piece is None and first < n:  # what was begun is no character
            words[first], first, begun = visible(b"".join(begun)), n, []
        places.append(first)
        if piece is None:
            words[n], first = visible(None), n + 1
            decoder.reset()
            continue
        begun.append(piece)
        decoder.decode(piece)
        if not decoder.getstate()[0]:
            words[first], first, begun = visible(b"".join(begun)), n + 1, []
    if first < len(pieces):
        words[first] = visible(b"".join(begun))
    return words, places


def _goes_on(contexts: np.ndarray, pieces: Sequence[bytes | None]) -> np.ndarray:
    """Whether each token of a context carries on the word of the one before it: [contexts, length]."""
    read = ["" if piece is None else piece.decode("utf-8", "replace") for piece in pieces]
    begins = np.asarray([text[:1].isalpha() for text in read])[contexts]
    ends = np.asarray([text[-1:].isalpha() for text in read])[contexts]
    first = np.zeros((len(contexts), 1), dtype=bool)
    return np.hstack([first, begins[:, 1:] & ends[:, :-1]])


def _repeated(tokens: Sequence[int]) -> list[bool]:
    """Whether each token but the first, with the one before it, is a pair that came before."""
    seen: set[tuple[int, int]] = set()
    found = []
    for pair in pairwise(tokens):
        found.append(pair in seen)
        seen.add(pair)
    return found
