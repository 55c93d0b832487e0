"""Find the pattern that explains a token in context: the classification of arXiv 2410.02984, App. B.

A token in context is a position p of a context x. The model predicts the token x[p + 1] there, and a head
attends most to the position a <= p. The first matching pattern of ``PATTERNS`` explains the token. The
patterns from ``ngram`` on are counted: they need several of a head's tokens.
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
REPEATS = 2  # least count of an n-gram among a head's tokens
PAIRS, DISTANCES = 5, 2  # of a recurrent pair: least count, and least number of distances


class InContext(NamedTuple):
    """A token in context: the number of the context, p and a."""

    context: int
    position: int
    attended: int


class Found(NamedTuple):
    """The explanation of a token in context.

    pattern  one of ``PATTERNS``
    matched  the position that the pattern refers to: the earlier occurrence, the opener, or a; -1 without one
    form     distinguishes different instances of a pattern: its tokens, or for a skip n-gram its words
    """

    pattern: str
    matched: int = -1
    form: tuple = ()


class Reader:
    """Contexts as tokens and as text, each computed once.

    contexts  arrays or lists of integers, by number
    pieces    the bytes of every token; None for a token without text, such as BOS
    """

    def __init__(self, contexts: Any, pieces: Sequence[bytes | None]):
        self.pieces = pieces
        self.tokens = lru_cache(maxsize=None)(lambda context: [int(token) for token in contexts[context]])
        self.text = lru_cache(maxsize=None)(self._text)
        self.closed = lru_cache(maxsize=None)(self._closed)

    def _text(self, context: int):
        return text_of([self.pieces[token] for token in self.tokens(context)])

    def span(self, context: int, place: int) -> tuple[int, int]:
        """Return the range of characters that a token completes."""
        owner = self.text(context).token
        return bisect_left(owner, place), bisect_left(owner, place + 1)

    def _closed(self, context: int) -> dict[int, list[tuple[int, str, str]]]:
        """Return, for each token, the brackets of earlier tokens that it closes: position, opener, closer."""
        text, table = self.text(context), defaultdict(list)
        for pair in pairs(text.characters):
            opened, closed = text.token[pair.opened], text.token[pair.closed]
            if opened < closed:
                table[closed].append((opened, pair.opener, pair.closer))
        return table


def classify(tokens: Sequence[InContext], reader: Reader, *, first_layer: bool) -> list[Found]:
    """Return the explanation of each of a head's tokens in context. The first match in this order counts.

    induction       some j < p has x[j] = x[p], x[j + 1] = x[p + 1], and a = j + 1. In the first layer also:
                    x[j - 1] = x[p - 1] too, and a = p - 1. (The paper has a = p there, the "second [A]", but
                    a previous-token head almost never attends to it.)
    dyck            x[p + 1] closes a bracket that an earlier token opened (``brackets``), for any a
    skip_ngram      a and x[p + 1] match a row of ``skip_ngrams``
    ngram           at least two of the tokens have this x[a .. p + 1]
    recurrent_pair  ours: at least five tokens have this x[a], x[p + 1], at two distances or more
    """
    alone = [_alone(token, reader, first_layer=first_layer) for token in tokens]
    return counted(tokens, alone, reader)


def counted(tokens: Sequence[InContext], alone: Sequence[Found | None], reader: Reader) -> list[Found]:
    """Return ``classify`` from ``alone``, the explanations by single tokens (None: counted or none)."""
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
    """Return the explanations that do not depend on the other tokens; None for counted patterns."""
    return [each if each.pattern in PATTERNS[:3] else None for each in found]


def different(found: Sequence[Found], *patterns: str) -> int:
    """Return the number of different instances of these patterns among the explanations."""
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
