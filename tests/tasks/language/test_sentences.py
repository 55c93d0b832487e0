"""Sentences against their grammar as a regular expression, closing brackets against a stack of characters."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from rllc.tasks.language.sentences import closing_depth, common_words, of_list, of_words, packed
from rllc.tasks.language.tokenizer import learnt, token_bytes

TEXT = [" the cat (and the dog) saw some something (or (a) b). Thecat " * 20]
TOKENIZER = learnt(TEXT, 330)
PIECES = token_bytes(TOKENIZER)
W = "[a-z]+"
GRAMMAR = {
    "unnested": rf"(?:{W} ){{3,6}}\((?:{W} ?){{2,5}}\)(?: {W}){{3,6}}\.",
    "nested": rf"(?:{W} ){{3,6}}\((?:{W} ){{1,3}}\((?:{W} ?){{2,4}}\)(?: {W}){{1,3}}\)(?: {W}){{3,6}}\.",
}


@pytest.mark.parametrize("kind", GRAMMAR)
def test_sentences_are_of_their_grammar_and_use_all_of_it(kind):
    sentence, random = of_words(["ab", "c"], kind), np.random.default_rng(0)
    drawn = [sentence(random) for _ in range(500)]
    assert all(re.fullmatch(GRAMMAR[kind], text) for text in drawn)
    before = Counter(len(text.partition(" (")[0].split()) for text in drawn)
    assert set(before) == {3, 4, 5, 6}
    inner = Counter(len(re.search(r"\(([a-z ]+)\)", text)[1].split()) for text in drawn)
    assert set(inner) == ({2, 3, 4} if kind == "nested" else {2, 3, 4, 5})


def test_words_are_whole_and_the_commonest_first():
    ids = TOKENIZER.encode(TEXT[0]).ids
    found = common_words(np.array([ids]), PIECES, 10)
    words = Counter(re.findall(r" ([A-Za-z]+)(?![A-Za-z])", TEXT[0]))
    one_token = {w: n for w, n in words.items() if len(TOKENIZER.encode(f" {w}").ids) == 1}
    assert set(found) <= set(one_token)
    assert found[0] == "the"
    assert [one_token[w] for w in found] == sorted((one_token[w] for w in found), reverse=True)
    with pytest.raises(ValueError, match="fewer than two words"):
        common_words(np.array([[1, 1, 1]]), PIECES, 10)


def test_contexts_begin_with_bos_and_a_whole_sentence():
    sentences = ["the (cat) saw.", "a (dog) b."]
    size = {"bos": 0, "length": 17, "count": 6}
    made = packed(of_list(sentences), TOKENIZER, random=np.random.default_rng(0), **size)
    assert made.shape == (6, 17)
    assert (made[:, 0] == 0).all()
    texts = [TOKENIZER.decode(row[1:].tolist()) for row in made]
    assert all(any(text.startswith(f" {s}") for s in sentences) for text in texts)
    assert len(set(texts)) > 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["(", ")", " the", " cat", "(the", ")."]), max_size=30))
def test_depths_are_those_of_a_stack(parts):
    text = "".join(parts)
    ids = TOKENIZER.encode(text).ids
    got = closing_depth(np.array([ids], dtype=int).reshape(1, -1), TOKENIZER)[0]
    opened, place, expected = 0, 0, []
    for token in ids:
        piece = PIECES[token].decode()
        expected.append(opened if piece[0] == ")" else 0)
        opened += piece.count("(") - piece.count(")")
        place += len(piece)
    assert place == len(text)
    assert got.tolist() == expected


def test_a_tokenizer_that_glues_the_bracket_is_refused():
    vocabulary = {token: n for n, token in enumerate(["<|bos|>", *"()aĠ", ")Ġ", ")Ġa"])}
    glued = Tokenizer(models.BPE(vocabulary, [(")", "Ġ"), (")Ġ", "a")]))
    glued.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    glued.decoder = decoders.ByteLevel()
    with pytest.raises(ValueError, match="no separate token"):
        closing_depth(np.array([[1]]), glued)
