"""Brackets in text against a grammar that writes down its own pairs, and cases that are easily got wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllc.tasks.language.brackets import pairs, text_of

WORDS = st.sampled_from(["a ", "self.x, ", "1 + 2 ", "don't ", "x_y ", ""])
BRACKETS = st.sampled_from(["()", "[]", "{}", "“”"])


@st.composite
def nested(draw, depth=3):
    """A text in which everything that opens is closed, and where: [(opener, closer)]."""
    text, where = "", []
    for _ in range(draw(st.integers(0, 3))):
        text += draw(WORDS)
        if depth and draw(st.booleans()):
            opener, closer = draw(BRACKETS)
            inner, inside = draw(nested(depth=depth - 1))
            start = len(text)
            where += [(start + 1 + a, start + 1 + b) for a, b in inside]
            text += opener + inner
            where.append((start, len(text)))
            text += closer
    return text, where


@given(nested())
def test_pairs_are_those_of_the_grammar(made):
    text, where = made
    found = [(pair.opened, pair.closed) for pair in pairs(text)]
    assert found == sorted(where, key=lambda pair: pair[1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[(])", []),  # mismatch: what is open is lost
        (")(", []),
        ("a) (b)", [("(", ")")]),
        ('print("(") x)', []),  # the quotation spans no valid nesting
        ('f("a", "b")', [('"', '"'), ('"', '"'), ("(", ")")]),
        ("(the dogs' bones)", [("(", ")")]),
        ("('tis so)", [("(", ")")]),  # a mark left open keeps no bracket from closing
        ("it's Jo's", []),
        ("a' b'", []),  # behind a letter a mark opens nothing
        ("a <b (c)", [("(", ")")]),
        ("<a>x</a>", [("<", ">"), ("<", ">")]),
        ("a < b > c -> d", []),
        ("<b -> c>", [("<", ">")]),
        ("f(**kwargs)", [("(", ")")]),
        ("**bold** _so it is_", [("**", "**"), ("_", "_")]),
        ("_it_ __init__ (_x, __y__)", [("(", ")")]),  # names in code
        ("_a = b_ _a\nb_", []),  # code, and two lines
        ("``a'' b'", [("``", "''")]),
        ("''a", []),
        ("Both, but both a and b.", [("both", "and")]),
        ("Neither. It nor", []),  # another sentence
        ("not only a but b; only a but b", [("not only", "but")]),
        ("Why so? Why. So?", [("Why", "?")]),
        ("so what?", []),
        ("more here than there", [("more", "than")]),
        ("(a\0b)", []),  # another document
    ],
)
def test_what_closes_what(text, expected):
    assert [(pair.opener, pair.closer) for pair in pairs(text)] == expected


def test_an_opener_ends_where_its_last_character_stands():
    (pair,) = pairs("not only a but b")
    assert (pair.opened, pair.closed) == (7, 11)


def test_a_character_is_of_the_token_that_completes_it():
    quote = "”".encode()
    text = text_of([b"a", quote[:2], quote[2:] + b"b", None, b"\xff", b"c"])
    assert text.characters == "a”b\0\ufffdc"
    assert text.token == [0, 2, 2, 3, 4, 5]


def test_a_character_that_is_cut_off_is_replaced():
    text = text_of([b"\xe2\x80", None, b"\xe2", b"x"])
    assert text.characters == "\ufffd\0\ufffdx"
    assert text.token == [1, 1, 3, 3]
