"""Manifests of blocks say how much there is to measure on."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from rllc.store.blocks import generated_settings, held_out, side_digest, write_blocks, write_examples
from rllc.tasks.batch import Examples
from rllc.tasks.language.blocks import blocks
from rllc.tasks.language.documents import Document, collect


@pytest.fixture
def words():
    tokenizer = Tokenizer(models.WordLevel({"<|bos|>": 0, "a": 1, "b": 2}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def test_contexts_are_counted_once_each(tmp_path, words):
    """One file of one word over and over has one context, however long it is."""
    table = collect(
        (Document(text, text[:9]) for text in ("a " * 999, "b " * 600, "a b " * 300)), held_out_fraction=0.5
    )
    table = table.set_column(3, "held_out", [[text.startswith("a a") for text in table["text"].to_pylist()]])
    sides = [
        (side, blocks(table, words, context=10, held_out=side == "held_out", seed=0))
        for side in ("train", "held_out")
    ]
    write_blocks(tmp_path / "x.json", sides, text={"read": 3, "source": "files"})
    assert held_out(tmp_path / "x.json") == {
        "contexts": 1, "documents": 1, "tokens": 999, "read": 3, "source": "files",
    }  # fmt: skip


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_generated_contexts_are_counted_too(tmp_path, kind):
    contexts = np.arange(12, dtype=kind).reshape(6, 2) % 8
    contexts[2, 0] = 2  # begins as another does, and is another
    write_examples(tmp_path / "x.json", Examples(contexts, np.asarray([0])), train=1, settings={})
    assert held_out(tmp_path / "x.json") == {"contexts": 4}


def test_the_digest_of_generated_training_is_of_the_settings_in_any_order(tmp_path):
    """No training contexts are kept, so a result depends on what makes them."""
    examples, found = Examples(np.arange(12).reshape(6, 2)), []
    for settings in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}):
        write_examples(tmp_path / "x.json", examples, train=None, settings=settings)
        found.append(side_digest(tmp_path / "x.json", "train"))
    assert found[0] == found[1] != found[2]


def test_training_is_told_the_settings_of_what_is_generated_and_none_of_what_is_read(tmp_path):
    examples, settings = Examples(np.arange(12).reshape(6, 2)), {"a": 1, "b": None}
    for train, found in ((None, settings), (2, None)):
        write_examples(tmp_path / "x.json", examples, train=train, settings=settings)
        assert generated_settings(tmp_path / "x.json") == found
