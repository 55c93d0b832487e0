"""Make sentences with brackets from common words (arXiv 2410.02984, Fig. 6, does not publish its own).

    unnested  W{3,6} (W{2,5}) W{3,6}.
    nested    W{3,6} (W{1,3} (W{2,4}) W{1,3}) W{3,6}.

W is a word; {a,b} means from a to b words.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from tokenizers import Tokenizer

from rllc.tasks.language.tokenizer import token_bytes

KINDS = ("unnested", "nested")
WORD = re.compile(rb" [A-Za-z]+")


def common_words(contexts: np.ndarray, pieces: Sequence[bytes | None], count: int) -> list[str]:
    """Return the ``count`` most common words that are one token with the space before them, in order.

    contexts  tokens [total, length]; a token counts where the next token does not begin with a letter
    pieces    the bytes of every token (``rllc.tasks.language.tokenizer.token_bytes``)

    Raises ValueError where there are fewer than two.
    """
    known = [piece or b"" for piece in pieces]
    goes_on = np.asarray([piece[:1].isalpha() for piece in known])
    whole = contexts[:, :-1][~goes_on[contexts[:, 1:]]]
    seen = Counter(dict(zip(*(part.tolist() for part in np.unique(whole, return_counts=True)), strict=True)))
    words = {token: n for token, n in seen.items() if WORD.fullmatch(known[token])}
    if len(words) < 2:
        raise ValueError("the text has fewer than two words of one token: give more text, or more vocabulary")
    ranked = sorted(words, key=lambda token: (-words[token], token))[:count]
    return [known[token][1:].decode() for token in ranked]


def of_words(words: Sequence[str], kind: str) -> Callable[[np.random.Generator], str]:
    """Return a function that draws a sentence of a kind, with uniform words."""

    def drawn(random: np.random.Generator, least: int, most: int) -> str:
        chosen = random.integers(len(words), size=random.integers(least, most + 1))
        return " ".join(words[int(i)] for i in chosen)

    def sentence(random: np.random.Generator) -> str:
        before = drawn(random, 3, 6)
        if kind == "nested":
            inside = f"{drawn(random, 1, 3)} ({drawn(random, 2, 4)}) {drawn(random, 1, 3)}"
        else:
            inside = drawn(random, 2, 5)
        return f"{before} ({inside}) {drawn(random, 3, 6)}."

    return sentence


def of_list(sentences: Sequence[str]) -> Callable[[np.random.Generator], str]:
    """Return a function that draws uniformly from the given sentences."""
    return lambda random: sentences[int(random.integers(len(sentences)))]


def packed(
    sentence: Callable[[np.random.Generator], str],
    tokenizer: Tokenizer,
    *,
    bos: int | None,
    length: int,
    count: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Return contexts [count, length] of ``bos`` (None: of none) and sentences, with a space before each.

    The last sentence is cut, so every closing bracket was opened in the same context.
    """
    contexts = np.empty((count, length), dtype=np.int64)
    for row in contexts:
        tokens = [] if bos is None else [bos]
        while len(tokens) < length:
            tokens += tokenizer.encode(f" {sentence(random)}", add_special_tokens=False).ids
        row[:] = tokens[:length]
    return contexts


def closing_depth(contexts: np.ndarray, tokenizer: Tokenizer) -> np.ndarray:
    """Return the number of open brackets before each token that begins with ``)``, else 0: [count, length].

    Raises ValueError for a tokenizer without a separate token for ``)`` between spaces.
    """
    pieces = token_bytes(tokenizer)
    alone = tokenizer.encode(") a", add_special_tokens=False).ids
    if pieces[alone[0]] != b")":
        raise ValueError("the tokenizer has no separate token for `)`: set `path_patching: null`")
    change = np.asarray([(p or b"").count(b"(") - (p or b"").count(b")") for p in pieces])[contexts]
    closes = np.asarray([(p or b"")[:1] == b")" for p in pieces])[contexts]
    return np.where(closes, change.cumsum(1) - change, 0)
