"""Losses of next tokens one by one, and the kinds of tokens of sentences that can be read."""

import numpy as np
import pytest
from scipy.special import log_softmax

from rllc.measures.most_affected import Contexts
from rllc.measures.token_losses.kernel import by_token, kinds, texts
from rllc.models.attention_only import model
from rllc.tasks.batch import next_token_batch

SIZE = 7
MODEL = model(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=12, d_vocab=SIZE)
WEIGHTS = MODEL.initial_weights(seed=0, query_key_factor=4.0)
TOKENS = np.random.default_rng(0).integers(0, SIZE, (5, 12))


def test_each_loss_is_that_of_the_token_alone():
    found = by_token(WEIGHTS, Contexts(TOKENS, 2), model=MODEL)
    assert found["loss"].shape == (5, 11)
    for context, position in ((0, 0), (3, 4), (4, 10)):  # what follows a prediction does not change it
        row = TOKENS[context : context + 1, : position + 2]
        logits = MODEL.outputs(WEIGHTS, next_token_batch(row, np.array([position])))[0, 0].detach().numpy()
        token = row[0, -1]
        cell = found.isel(context=context, position=position)
        assert cell["logit"].item() == pytest.approx(logits[token], rel=1e-4, abs=1e-6)
        assert cell["loss"].item() == pytest.approx(-log_softmax(logits.astype(float))[token], rel=1e-5)


PIECES = [None, b" D", b"urs", b"ley", b" ", b"9a", b"\xe2", b"\x80", b"\x99s", b"\xc3\xa9", b"."]


def of(*tokens):
    return {name: values[0].tolist() for name, (_, values, _) in kinds(np.array([tokens]), PIECES).items()}


def test_second_tokens_of_words_follow_a_first():
    assert of(0, 1, 2, 3, 4, 2, 2)["second"] == [0, 1, 0, 0, 0, 1]
    assert of(0, 2, 9, 5, 2)["second"] == [
        0,
        1,
        0,
        1,
    ]  # é is a letter; a number that ends with one begins a word
    assert of(0, 0, 2, 2)["second"] == [0, 0, 1]


def test_a_repeat_is_a_pair_that_came_before():
    assert of(0, 1, 2, 3, 1, 2, 1, 3)["repeated"] == [0, 0, 0, 0, 1, 0, 0]
    assert of(0, 2, 2, 2)["repeated"] == [0, 0, 1]


def test_tokens_that_divide_a_character_are_one_text():
    found = of(0, 10, 6, 7, 8, 1)
    assert found["text"] == [".", "’s", "", "", " D"]
    assert found["joined"] == [0, 1, 1, 1, 4]


def test_bytes_of_no_character_are_shown_as_such():
    assert texts([b"\xe2", b"a", None, b"\xff", b"\xe2"]) == (
        ["‹e2›a", "", "‹›", "‹ff›", "‹e2›"],
        [0, 0, 2, 3, 4],
    )
    assert texts([b"\xe2", None]) == (["‹e2›", "‹›"], [0, 1])
