"""Skip n-grams, "[A] ... [B]": an attended token and a later predicted token, with any text between.

A row has a name and two regular expressions. The opener must cover the attended token, and the closer, later
in the text, the predicted token. Brackets are not rows: ``brackets`` matches them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

LONGEST = 30  # characters of an opener or a closer
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"


class Row(NamedTuple):
    name: str
    opener: re.Pattern
    closer: re.Pattern


def _row(name: str, opener: str, closer: str) -> Row:
    return Row(name, re.compile(opener), re.compile(closer))


def _words(*texts: str) -> list[Row]:
    """Return rows from texts such as "prevent|prevents ... from"."""
    rows = []
    for text in texts:
        opener, closer = text.split(" ... ")
        rows.append(_row(text, rf"\b(?:{opener})\b", rf"\b(?:{closer})\b"))
    return rows


# The families of arXiv 2410.02984, App. B.4.
PUBLISHED = (
    _row("after a quotation", r"[\"”’]|''", r"\b(?:said|says|wrote|writes|asked|asks|told|added|of)\b"),
    _row("after parentheses", r"\)", rf"\b(?:{MONTHS})\b"),
    _row("more ... than", r"\b(?:more|less|better|worse|rather|other|[a-z]+er)\b", r"\bthan\b"),
    _row("abbreviation", r"\b[A-Z]\.", r"(?<=\.[A-Z])\."),
    _row(":// ... /", r"://", r"(?<=[A-Za-z0-9])/"),
    _row("email ... @", r"\b(?:email|at)\b", r"@"),
    *_words(
        "prevent|prevents|prevented|preventing ... from",
        "keep|keeps|kept ... safe",
        "let|lets ... go|die",
        "meet|meets|met ... requirement|requirements",
        "remove|removes|removed|removing ... from",
        "accused ... of",
        "ask|asks|asked ... whether",
        "turn|turns|turned ... into",
        "solve|solves|solved|solving ... problem|problems",
        "violate|violates|violated ... law|laws",
        "convert|converts|converted|converting ... to|into",
        "divide|divides|divided ... into|by",
        "replace|replaces|replaced|replacing ... with|by",
        "provide|provides|provided ... with",
        "compare|compares|compared|comparing ... with|to",
        "apply|applies|applied ... to",
        "add|adds|added ... to",
        "set|sets ... to",
        "between ... and",
        "whether ... or",
        "if ... then",
        "such ... that|as",
        "so ... that",
        "same ... as",
    ),
)
# Ours: a small corpus has more code than prose.
CODE = (
    *_words(
        "from ... import",
        "import|with|except ... as",
        "for ... in",
        "not ... in",
        "is ... not|None|True|False",
        "if ... else",
        "try ... except|finally|catch",
        "switch ... case",
        "do ... while",
        "raise|throw ... Error|ValueError|TypeError",
    ),
    _row("def ... :", r"\b(?:def|class|if|elif|while|for|with|try|else|except|lambda)\b", r":"),
    _row("namespace ... {", r"\b(?:namespace|class|struct|enum|union|extern|static)\b", r"[{;]"),
    _row("template ... typename", r"\btemplate\b", r"\b(?:typename|class)\b"),
    _row("#if ... #endif", r"#\s*if(?:n?def)?\b", r"#\s*(?:endif|else|elif|define)\b"),
    _row("return ... ;", r"\b(?:return|using|typedef|break)\b", r";"),
    _row("? ... :", r"\?", r":"),
)
ROWS: tuple[Row, ...] = (*PUBLISHED, *CODE)


class Match(NamedTuple):
    """Character ranges of an opener and a later closer, with their words."""

    opener: tuple[int, int]
    closer: tuple[int, int]
    words: tuple[str, str]


def matches(text: str, at: Sequence[int], target: Sequence[int]) -> Iterator[Match]:
    """Yield matches of rows whose opener overlaps ``at`` and whose later closer overlaps ``target``.

    at, target  half-open character ranges of the attended and of the predicted token
    """
    for row in ROWS:
        for closer in _meeting(row.closer, text, target):
            for opener in _meeting(row.opener, text, at):
                if opener.end() <= closer.start():
                    yield Match(opener.span(), closer.span(), (opener.group().lower(), closer.group()))


def _meeting(pattern: re.Pattern, text: str, span: Sequence[int]) -> Iterator[re.Match]:
    """Yield the matches of the pattern that overlap the span."""
    for match in pattern.finditer(text, max(0, span[0] - LONGEST), span[1] + LONGEST):
        if match.start() >= span[1]:
            return
        if match.end() > span[0]:
            yield match
