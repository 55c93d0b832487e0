import json
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers

from rllc.tasks.language.pieces import GPT2, LLAMA3, PATTERNS, UNBROKEN, boundary, pieces, without_long_runs
from rllc.tasks.language.tokenizer import learnt

WORDS = [
    *("it's", "I'll", "12,345", "don't", "word", "x=1;", "(a,", "b)", "中文，字。", "かな", "ガ", "한국어"),
    *("café", "e\u0301", "か\u3099", "ﬁ", "a\u0301", "\u200b", "\U0001f600"),
]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from([*WORDS, " ", "  ", "\n", "\r\n", "\t", ",", "'", "s", "\u00a0", "\u3000", "<|x|>"]),
        st.text(max_size=3),
    ),
    max_size=40,
).map("".join)


def by_patterns(*steps, normalizer=None, tokens=()):
    """A byte-level tokenizer with many merges, and other first steps."""
    trained = json.loads(
        learnt([" ".join(WORDS) * 3, "a,b a.b a b a\nb it's, 12 345 中文，字。"], 420).to_str()
    )
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    if steps:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(list(steps))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.add_tokens(list(tokens))
    tokenizer.encode_special_tokens = True
    return tokenizer


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
DIVISIBLE = {
    "trained here": by_patterns(),
    "NFC": by_patterns(normalizer=normalizers.NFC()),
    "prefix space": by_patterns(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "digits": by_patterns(pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)),
    "runs of spaces": by_patterns(
        tokens=[AddedToken("  "), AddedToken("    "), AddedToken("<|x|>", special=True)]
    ),
    "removed": by_patterns(split(LLAMA3, "removed", True), BYTES),
    **{f"pattern {i}": by_patterns(split(pattern), BYTES) for i, pattern in enumerate(PATTERNS)},
}
WHOLE = {
    "no pre-tokenizer": by_patterns(BYTES),
    "unknown pattern": by_patterns(split(r"\w+ \w+|\W+|\w+"), BYTES),
    "merged": by_patterns(split(GPT2, "merged_with_next"), BYTES),
    "NFKD": by_patterns(normalizer=normalizers.NFKD()),
    "an added token across": by_patterns(tokens=[AddedToken("a b")]),
    "an added token that looks beyond": by_patterns(tokens=[AddedToken(" b", single_word=True)]),
    "sentencepiece": by_patterns(pre_tokenizers.Metaspace()),
}


@pytest.mark.parametrize("name", DIVISIBLE)
@given(text=TEXTS, size=st.integers(1, 30))
def test_tokens_of_pieces_equal_those_of_the_text(name, text, size):
    tokenizer = DIVISIBLE[name]
    found = list(pieces(text, boundary(tokenizer), size))
    assert "".join(found) == text
    ids = [tokenizer.encode(piece, add_special_tokens=False).ids for piece in found]
    assert list(chain(*ids)) == tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", DIVISIBLE)
def test_ordinary_text_is_divided_near_the_asked_size(name):
    text = "The head, which attends to 12 tokens, copies 中文 what followed.\n" * 100
    lengths = [len(piece) for piece in pieces(text, boundary(DIVISIBLE[name]), 50)]
    assert max(lengths) < 100 < len(lengths)


@pytest.mark.parametrize("name", WHOLE)
def test_tokenizer_that_may_look_across_is_given_the_whole_text(name):
    assert boundary(WHOLE[name]) is None
    assert list(pieces("a b " * 100, boundary(WHOLE[name]), 10)) == ["a b " * 100]


@given(texts=st.lists(TEXTS, max_size=5), size=st.integers(1, 30))
def test_tokenizer_learnt_from_pieces_equals_that_of_the_texts(texts, size):
    where = boundary(DIVISIBLE["trained here"])
    divided = [piece for text in texts for piece in pieces(text, where, size)]
    assert learnt(divided, 300).to_str() == learnt(texts, 300).to_str()


@pytest.mark.parametrize("run", ["ab", "1", " ", "=_"])
def test_only_long_runs_are_cut(run):
    short, long = run * (UNBROKEN // len(run)), run * (3 * UNBROKEN // len(run))
    before, after = ("a b", "c d") if run != "ab" else ("1 ", " 2")
    assert without_long_runs(before + short + after) == ([before + short + after], 0)
    found, cut = without_long_runs(before + long + after)
    assert ("".join(found), cut) == (before + long + after, 1)
    assert max(map(len, found)) <= UNBROKEN + 10
