"""Match brackets in the widest sense in text: the Dyck patterns of arXiv 2410.02984, App. B.3.

``()``, ``[]``, ``{}`` are always brackets. Marks are possible brackets: quotation marks, ``<>``, ``**`` and
``_``. Split constructions are pairs of words ("either ... or") within a sentence.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

RESET = "\0"  # between documents: nothing is open there
BRACKETS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {closer: opener for opener, closer in BRACKETS.items()}
DIRECTED = {"“": "”", "‘": "’", "``": "''", "<": ">"}
CLOSES = {closer: opener for opener, closer in DIRECTED.items()}
TWO_WAY = ('"', "'", "**", "_")  # the same mark opens and closes
OUTSIDE = (*TWO_WAY, "’")  # before a letter they close nothing
# Between two ``_`` of Markdown: several words of one line. One word is a name in code (``__init__``).
EMPHASIS = re.compile(r"[^\s_=(){}\[\]<>][^_=(){}\[\]<>\n]*[ \t][^_=(){}\[\]<>\n]*[^\s_=(){}\[\]<>]")
MARKS = {*DIRECTED, *TWO_WAY}
SPLIT = {
    "and": ("both",),
    "but": ("not only",),
    "nor": ("neither",),
    "or": ("either",),
    "than": ("more", "less", "better"),
    "ever": ("most", "least"),
}
QUESTIONS = ("Why", "What", "How")
WORD = re.compile(r"[A-Za-z]+|[.!?;]|\n\s*\n|\0")


class Pair(NamedTuple):
    """The positions of an opener (its last character) and its closer in the text, and their characters."""

    opened: int
    closed: int
    opener: str
    closer: str


def pairs(text: str) -> list[Pair]:
    """Return all closed brackets, marks and split constructions, in the order in which they close."""
    return sorted([*_delimiters(text), *_split_constructions(text)], key=lambda pair: pair.closed)


def _delimiters(text: str) -> Iterator[Pair]:
    """Yield closed brackets and marks, matched with a stack.

    A closer must match the opener on top of the stack, ignoring marks left open above it; otherwise the stack
    is emptied. A quotation mark, ``**`` or ``_`` closes where it is open and no letter follows. Otherwise it
    opens where no letter precedes it. ``<`` opens only before a letter, ``/`` or ``!``; ``>`` does not close
    after a space, ``-`` or ``=``. A closing mark without an opener is ignored. Two ``_`` are a pair only
    around several words: else most pairs of code would be of names such as ``__init__``.

    The paper has no rule for marks left open. Here they do not prevent the bracket around them from closing.
    Otherwise an apostrophe, ``a <b`` and ``**kwargs`` would each empty the stack.
    """
    stack: list[tuple[str, int]] = []
    for where, mark in _marks(text):
        if mark == RESET:
            stack.clear()
            continue
        before, after = text[where - 1 : where], text[where + len(mark) : where + len(mark) + 1]
        is_open = [opener for opener, _ in stack]
        closes = CLOSERS.get(mark) or CLOSES.get(mark) or mark
        if mark in CLOSERS:
            wanted = True
        elif mark == ">":
            wanted = "<" in is_open and before not in (" ", "-", "=")
        elif mark in DIRECTED or mark in BRACKETS:
            wanted = False
        else:
            wanted = closes in is_open and not (mark in OUTSIDE and after.isalpha())
        if wanted:
            while stack and stack[-1][0] != closes and stack[-1][0] in MARKS:
                stack.pop()
            if stack and stack[-1][0] == closes:
                opener, opened = stack.pop()
                if mark != "_" or EMPHASIS.fullmatch(text, opened + 1, where):
                    yield Pair(opened + len(opener) - 1, where, opener, mark)
            else:
                stack.clear()
        elif _may_open(mark, before, after):
            stack.append((mark, where))


def _may_open(mark: str, before: str, after: str) -> bool:
    if mark in TWO_WAY:
        return not before.isalpha()
    if mark == "<":
        return after.isalpha() or after in ("/", "!")
    return mark in BRACKETS or mark in DIRECTED


def _marks(text: str) -> Iterator[tuple[int, str]]:
    """Yield position and text of brackets and marks. ``''`` is one mark only after a ``` `` ```."""
    latex = False
    where = 0
    while where < len(text):
        two = text[where : where + 2]
        mark = two if two in ("**", "``") or (two == "''" and latex) else text[where]
        latex = (latex or mark == "``") and mark not in ("''", RESET)
        if mark == RESET or mark in BRACKETS or mark in CLOSERS or mark in MARKS or mark in CLOSES:
            yield where, mark
        where += len(mark)


def _split_constructions(text: str) -> Iterator[Pair]:
    """Yield pairs of words within a sentence, and a question's first word with its question mark."""
    opened: dict[str, int] = {}
    previous, first = "", True
    for match in WORD.finditer(text):
        word, last = match.group(), match.end() - 1
        if not word[0].isalpha():
            question = next((name for name in QUESTIONS if name in opened), None)
            if word == "?" and question:
                yield Pair(opened[question], match.start(), question, "?")
            opened, previous, first = {}, "", True
            continue
        small = word.lower()
        opener = next((name for name in SPLIT.get(small, ()) if name in opened), None)
        if opener:
            yield Pair(opened.pop(opener), match.start(), opener, small)
        known = f"not {small}" if previous == "not" and small == "only" else small
        if any(known in openers for openers in SPLIT.values()):
            opened[known] = last
        if first and word in QUESTIONS:
            opened[word] = last
        previous, first = small, False


class Text(NamedTuple):
    """A context as text: ``token[i]`` is the index in the context of the token that completes character i."""

    characters: str
    token: Sequence[int]


def text_of(pieces: Sequence[bytes | None]) -> Text:
    """Return the text of tokens given as bytes (None for special ones). Invalid UTF-8 becomes U+FFFD."""
    characters, token, rest = [], [], b""
    for place, piece in enumerate(pieces):
        if piece is None:
            found, rest = ("\ufffd" if rest else "") + RESET, b""
        else:
            found, rest = _decoded(rest + piece)
        characters.append(found)
        token += [place] * len(found)
    return Text("".join(characters), token)


def _decoded(data: bytes) -> tuple[str, bytes]:
    """Return the complete characters of ``data``, and the bytes of an incomplete last character."""
    try:
        return data.decode(), b""
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return data[: error.start].decode(errors="replace"), data[error.start :]
        begun = data[: error.end].decode(errors="replace")
        more, rest = _decoded(data[error.end :])
        return begun + more, rest
