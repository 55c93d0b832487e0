"""Which pattern explains a token in context: the classification of arXiv 2410.02984, App. B.

A token in context is a position p of a context x: the token x[p + 1] is predicted there, and a head attends
most to the position a <= p. The first of ``PATTERNS`` that holds explains it. Patterns that are counted, from
``ngram`` on, are those of several of a head's tokens.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from rllc.tasks.language import skip_ngrams
from rllc.tasks.language.brackets import pairs, text_of

PATTERNS = ("induction", "dyck", "skip_ngram", "ngram", "recurrent_pair", "unexplained")
MULTIGRAMS = ("dyck", "skip_ngram", "ngram")
REPEATS = 2  # of an n-gram among a head's tokens
PAIRS, DISTANCES = 5, 2  # of a recurrent pair: how often, and at how many distances


class InContext(NamedTuple):
    """A token in context: which context, p and a."""

    context: int
    position: int
    attended: int


class Found(NamedTuple):
    """What explains a token in context.

    pattern  of ``PATTERNS``
    matched  the position that the pattern refers to: the earlier occurrence, the opener, or a; -1 where none
    form     what makes it one of several different ones: tokens, or of a skip n-gram its words
    """

    pattern: str
    matched: int = -1
    form: tuple = ()


class Reader:
    """Contexts as tokens and as text, each read once.

    contexts  arrays or lists of integers, by their number
    pieces    the bytes of every token; None for one that is no text, as the start of one
    """

    def __init__(self, contexts: Any, pieces: Sequence[bytes | None]):
        self.pieces = pieces
        self.tokens = lru_cache(maxsize=None)(lambda context: [int(token) for token in contexts[context]])
        self.text = lru_cache(maxsize=None)(self._text)
        self.closed = lru_cache(maxsize=None)(self._closed)

    def _text(self, context: int):
        return text_of([self.pieces[token] for token in self.tokens(context)])

    def span(self, context: int, place: int) -> tuple[int, int]:
        """The characters that a token completes."""
        owner = self.text(context).token
        return bisect_left(owner, place), bisect_left(owner, place + 1)

    def _closed(self, context: int) -> dict[int, list[tuple[int, str, str]]]:
        """Of each token the brackets of earlier tokens that it closes: where, opener, closer."""
        text, table = self.text(context), defaultdict(list)
        for pair in pairs(text.characters):
            opened, closed = text.token[pair.opened], text.token[pair.closed]
            if opened < closed:
                table[closed].append((opened, pair.opener, pair.closer))
        return table


def classify(tokens: Sequence[InContext], reader: Reader, *, first_layer: bool) -> list[Found]:
    """What explains each of a head's tokens in context, in this order.

    induction       some j < p has x[j] = x[p], x[j + 1] = x[p + 1], and a = j + 1. In the first layer also:
                    x[j - 1] = x[p - 1] too, and a = p - 1. (The paper has a = p there, the "second [A]",
                    which is next to never where a previous-token head attends.)
    dyck            x[p + 1] closes a bracket that an earlier token opened (``brackets``), whatever a is
    skip_ngram      a and x[p + 1] are of a row of ``skip_ngrams``
    ngram           x[a .. p + 1] is that of at least two of the tokens
    recurrent_pair  ours: x[a], x[p + 1] are those of at least five, at two distances or more
    """
    alone = [_alone(token, reader, first_layer=first_layer) for token in tokens]
    return counted(tokens, alone, reader)


def counted(tokens: Sequence[InContext], alone: Sequence[Found | None], reader: Reader) -> list[Found]:
    """The same where ``alone`` says what explains a token whatever the others are (None: nothing does)."""
    runs = [tuple(reader.tokens(t.context)[t.attended : t.position + 2]) for t in tokens]
    ends = [(run[0], run[-1]) for run in runs]
    how_often, distances = Counter(runs), defaultdict(set)
    for pair, run in zip(ends, runs, strict=True):
        distances[pair].add(len(run))
    often = Counter(ends)
    found = []
    for token, known, run, pair in zip(tokens, alone, runs, ends, strict=True):
        if known is None and how_often[run] >= REPEATS:
            known = Found("ngram", token.attended, run)
        elif known is None and often[pair] >= PAIRS and len(distances[pair]) >= DISTANCES:
            known = Found("recurrent_pair", token.attended, pair)
        found.append(known or Found("unexplained"))
    return found


def uncounted(found: Sequence[Found]) -> list[Found | None]:
    """What explains each token whatever the others are."""
    return [each if each.pattern in PATTERNS[:3] else None for each in found]


def different(found: Sequence[Found], *patterns: str) -> int:
    """How many different ones of these patterns explain tokens."""
    return len({(each.pattern, each.form) for each in found if each.pattern in patterns})


def _alone(token: InContext, reader: Reader, *, first_layer: bool) -> Found | None:
    x, p, a = reader.tokens(token.context), token.position, token.attended
    now, following = x[p], x[p + 1]
    if a >= 1 and (x[a - 1], x[a]) == (now, following):
        return Found("induction", a, (now, following))
    if first_layer and a == p - 1:
        for j in range(p - 1, 0, -1):
            if (x[j - 1], x[j], x[j + 1]) == (x[p - 1], now, following):
                return Found("induction", j + 1, (now, following))
    for opened, _, _ in reader.closed(token.context).get(p + 1, ()):
        return Found("dyck", opened, (x[opened], following))
    characters = reader.text(token.context).characters
    spans = (reader.span(token.context, place) for place in (a, p + 1))
    for match in skip_ngrams.matches(characters, *spans):
        return Found("skip_ngram", a, match.words)
    return None
