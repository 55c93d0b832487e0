"""Data in memory against what a job reads from files."""

import numpy as np
import pytest
import torch
import xarray as xr

from rllc.measures.data import InMemoryData
from rllc.seeds import derive, generator
from rllc.tasks.batch import Batch, Examples, batches_of, next_token_batch

CONTEXTS = np.random.default_rng(0).integers(1, 9, (12, 6))
CONTEXTS[:, 0] = 5
BATCHES = [next_token_batch(CONTEXTS[i : i + 4], np.arange(5)) for i in (0, 4, 8)]


def equal(found, expected):
    return all(
        torch.equal(a, b)
        for one, two in zip(found, expected, strict=True)
        for a, b in zip(one, two, strict=True)
    )


@pytest.mark.parametrize("scored", [None, 2])
@pytest.mark.parametrize("held_out", [CONTEXTS, Examples(CONTEXTS)], ids=["contexts", "examples"])
def test_minibatches_of_contexts_are_drawn_by_stream_purpose_and_sizes(held_out, scored):
    data = InMemoryData(held_out=held_out, stream=3)
    random = generator(3, "metrics", 2, 4)
    expected = batches_of(Examples(CONTEXTS), batch_size=4, count=2, scored=scored, random=random)
    assert equal(data.batches("metrics", count=2, batch_size=4, scored=scored), expected)
    assert not equal(data.batches("other", count=2, batch_size=4, scored=None), BATCHES[:2])


def test_given_minibatches_are_given_out_in_order():
    data = InMemoryData(held_out=BATCHES)
    assert equal(data.batches("any", count=2, batch_size=4, scored=None), BATCHES[:2])
    np.testing.assert_array_equal(data.contexts(), CONTEXTS)
    np.testing.assert_array_equal(data.contexts(3), CONTEXTS[:3])


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"count": 4}, "4"),
        ({"batch_size": 3}, "batch_size, 3"),
        ({"scored": 2}, "scores 5"),
    ],
)
def test_given_minibatches_that_do_not_fit_are_refused(asked, named):
    with pytest.raises(ValueError, match=named):
        InMemoryData(held_out=BATCHES).batches("any", **{"count": 1, "batch_size": 4, "scored": None} | asked)


def test_first_token_is_that_of_all_contexts_or_given_or_none():
    assert InMemoryData(held_out=CONTEXTS).bos == InMemoryData(held_out=BATCHES).bos == 5
    assert InMemoryData(held_out=CONTEXTS, first=0).bos == 0
    assert InMemoryData(held_out=CONTEXTS[:, 1:]).bos is None


@pytest.mark.parametrize(
    ("asks", "named"),
    [
        (lambda data: data.training_contexts(), "training"),
        (lambda data: data.encoder, "tokenizer"),
        (lambda data: data.part("attention_scores"), "attention_scores"),
        (lambda data: data.contexts(13), "12 contexts"),
    ],
)
def test_what_is_not_given_is_named_when_a_measure_asks_for_it(asks, named):
    with pytest.raises(ValueError, match=named):
        asks(InMemoryData(held_out=CONTEXTS))


def test_parts_and_seeds_are_those_of_a_job():
    part = xr.Dataset({"a": 1})
    data = InMemoryData(held_out=CONTEXTS, parts={"attention_scores": part}, training=CONTEXTS[:2], stream=4)
    assert data.part("attention_scores") is part
    assert data.training_contexts().shape == (2, 6)
    assert (data.seed(9), data.seed(9, seeded=True)) == (derive(4, 9), 4)


def test_batch_of_numbers_keeps_its_targets():
    vectors, answers = np.zeros((4, 3, 2), dtype=np.float32), np.arange(12.0).reshape(4, 3)
    (batch,) = InMemoryData(held_out=Examples(vectors, targets=answers)).batches(
        "a", count=1, batch_size=4, scored=None
    )
    assert isinstance(batch, Batch)
    assert sorted(batch.targets.flatten().tolist()) == list(range(12))
