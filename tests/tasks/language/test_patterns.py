"""The pattern of a token in context on contexts made by hand; a word or a character is a token."""

import pytest

from rllc.tasks.language.patterns import Found, InContext, Reader, classify, different

BOS = "<bos>"


class Written:
    """Contexts as lists of texts of tokens."""

    def __init__(self, *contexts):
        names = list(dict.fromkeys(token for context in contexts for token in context))
        self.ids = {name: n for n, name in enumerate(names)}
        pieces = [None if name == BOS else name.encode() for name in names]
        self.reader = Reader([[self.ids[token] for token in context] for context in contexts], pieces)

    def found(self, *tokens, first_layer=False):
        places = [InContext(*token) for token in tokens]
        return classify(places, self.reader, first_layer=first_layer)

    def form(self, *tokens):
        return tuple(self.ids[token] for token in tokens)


def one(text, position, attended, **layer):
    written = Written([BOS, *text])
    (found,) = written.found((0, position, attended), **layer)
    return found, written


def test_induction_is_attention_to_what_followed_before():
    found, written = one(["A", "B", "C", "A", "B"], position=4, attended=2)
    assert found == Found("induction", 2, written.form("A", "B"))


@pytest.mark.parametrize("attended", [1, 3, 4])
def test_attention_elsewhere_is_no_induction(attended):
    assert one(["A", "B", "C", "A", "B"], position=4, attended=attended)[0].pattern == "unexplained"


def test_another_token_follows_than_before():
    assert one(["A", "B", "C", "A", "D"], position=4, attended=2)[0].pattern == "unexplained"


def test_a_previous_token_head_of_the_first_layer_serves_induction():
    text = ["X", "A", "B", "C", "X", "A", "B"]
    found, written = one(text, position=6, attended=5, first_layer=True)
    assert found == Found("induction", 3, written.form("A", "B"))
    assert one(text, position=6, attended=5)[0].pattern == "unexplained"
    unlike = ["Y", *text[1:]]
    assert one(unlike, position=6, attended=5, first_layer=True)[0].pattern == "unexplained"


def test_a_bracket_needs_no_attention_to_its_opener():
    text = ["f", "(", "x", "[", "1", "]", ")"]
    found, written = one(text, position=6, attended=1)
    assert found == Found("dyck", 2, written.form("(", ")"))
    assert one(text, position=5, attended=1)[0] == Found("dyck", 4, written.form("[", "]"))


def test_a_bracket_within_one_token_or_cut_off_is_none():
    assert one(["f", "()"], position=1, attended=1)[0].pattern == "unexplained"
    assert one(["x", ")"], position=1, attended=1)[0].pattern == "unexplained"


@pytest.mark.parametrize(
    ("text", "position", "attended", "words"),
    [
        (["from", " os", " import"], 2, 1, ("from", "import")),
        (["from", " os", " imp", "ort"], 3, 1, ("from", "import")),
        (["for", " i", " in"], 2, 1, ("for", "in")),
        (["prev", "ent", " it", " from"], 3, 2, ("prevent", "from")),
        (["He", "”", " (", "she", " said"], 4, 2, ("”", "said")),
        (["N", ".", "A", "."], 3, 1, ("n.", ".")),
        (["https", "://", "a", "/"], 3, 2, ("://", "/")),
    ],
)
def test_skip_ngrams_are_told_by_the_attended_word(text, position, attended, words):
    assert one(text, position, attended)[0] == Found("skip_ngram", attended, words)
    assert one(text, position, attended=0)[0].pattern == "unexplained"


def test_a_skip_ngram_goes_forward():
    assert one([" import", " x", "from"], position=2, attended=1)[0].pattern == "unexplained"


def test_an_ngram_is_that_of_two_tokens():
    written = Written([BOS, "a", "b", "c"], [BOS, "d", "a", "b", "c"], [BOS, "b", "c"])
    twice = [(0, 2, 1), (1, 3, 2)]
    ngram = written.form("a", "b", "c")
    assert written.found(*twice) == [Found("ngram", 1, ngram), Found("ngram", 2, ngram)]
    assert [f.pattern for f in written.found(twice[0], (2, 1, 1))] == ["unexplained"] * 2


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [([1, 2, 3, 4, 5], 5), ([1, 1, 1, 1, 2], 5), ([1, 2, 3, 4], 0), ([1, 1, 1, 1, 1], 0)],
)
def test_a_recurrent_pair_is_frequent_and_at_several_distances(gaps, expected):
    fillers = iter(range(100))
    contexts = [[BOS, "a", *(f"f{next(fillers)}" for _ in range(gap)), "z"] for gap in gaps]
    written = Written(*contexts)
    found = written.found(*((n, gap + 1, 1) for n, gap in enumerate(gaps)))
    assert [f.pattern for f in found].count("recurrent_pair") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (["x", " return);", "(", "x", " return);"], "induction"),  # all rules hold ...
        (["y", " return);", "(", "x", " return);"], "dyck"),  # ... but the first
        (["y", " return);", "z", "x", " return);"], "skip_ngram"),
        (["y", "if", "z", "x", " return);"], "ngram"),
    ],
)
def test_the_first_that_holds_explains(text, expected):
    twice = Written([BOS, *text], [BOS, *text])
    assert [f.pattern for f in twice.found((0, 4, 2), (1, 4, 2))] == [expected] * 2


def test_different_forms_are_counted_by_pattern():
    found = [
        Found("dyck", 1, (1, 2)),
        Found("dyck", 4, (1, 2)),
        Found("ngram", 0, (1, 2)),
        Found("unexplained"),
    ]
    assert different(found, "dyck") == 1
    assert different(found, "dyck", "ngram", "skip_ngram") == 2
