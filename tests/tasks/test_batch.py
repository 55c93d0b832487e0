import numpy as np
import pyarrow as pa
import torch

from rllc.seeds import generator
from rllc.tasks.arrow import as_array, as_lists
from rllc.tasks.batch import Examples, batches_of

CONTEXTS = np.arange(60).reshape(6, 10)


def test_next_tokens_where_nothing_else_is_said():
    (batch,) = batches_of(Examples(CONTEXTS), batch_size=6, count=1, scored=None, random=generator(0, "t"))
    assert batch.positions.tolist() == list(range(9))
    np.testing.assert_array_equal(batch.targets, batch.contexts[:, 1:])


def test_a_later_pass_has_all_contexts_again_in_another_order():
    batches = batches_of(Examples(CONTEXTS), batch_size=2, count=12, scored=3, random=generator(0, "t"))
    firsts = np.stack([batch.contexts[:, 0].numpy() for batch in batches]).reshape(4, 6)
    assert all(sorted(one) == CONTEXTS[:, 0].tolist() for one in firsts)
    assert len({tuple(one) for one in firsts}) == 4


def test_only_the_positions_of_the_task_are_scored():
    examples = Examples(CONTEXTS, positions=np.arange(4, 8))
    for scored, count in ((None, 4), (3, 3), (9, 4)):
        for batch in batches_of(examples, batch_size=2, count=3, scored=scored, random=generator(0, "t")):
            assert len(batch.positions) == count
            assert set(batch.positions.tolist()) <= {4, 5, 6, 7}
            np.testing.assert_array_equal(batch.targets, batch.contexts[:, batch.positions + 1])


def test_targets_of_a_task_that_predicts_something_else():
    examples = Examples(CONTEXTS, positions=np.arange(10), targets=-CONTEXTS)
    (batch,) = batches_of(examples, batch_size=4, count=1, scored=None, random=generator(0, "t"))
    np.testing.assert_array_equal(batch.targets, -batch.contexts)


def test_vectors_without_positions_are_scored_whole():
    contexts = np.random.default_rng(0).standard_normal((8, 3))
    examples = Examples(contexts, targets=contexts.sum(1))
    for batch in batches_of(examples, batch_size=4, count=3, scored=None, random=generator(0, "t")):
        assert batch.contexts.dtype == batch.targets.dtype == torch.float32
        assert batch.contexts.shape == (4, 3)
        assert len(batch.positions) == 0
        torch.testing.assert_close(batch.targets, batch.contexts.sum(1))


def test_vectors_in_sequence_are_scored_at_some_positions():
    contexts = np.random.default_rng(0).standard_normal((8, 5, 3))
    examples = Examples(contexts, targets=contexts[..., :2])
    for batch in batches_of(examples, batch_size=4, count=3, scored=2, random=generator(0, "t")):
        assert batch.contexts.shape == (4, 5, 3)
        assert batch.targets.shape == (4, 2, 2)
        torch.testing.assert_close(batch.targets, batch.contexts[:, batch.positions, :2])
    assert examples.scorable().tolist() == list(range(5))


def test_rows_of_vectors_are_those_of_tokens():
    """The same draws, whatever contexts hold."""
    tokens, numbers = Examples(CONTEXTS), Examples(CONTEXTS[..., None] * 0.5, CONTEXTS[0, :9], CONTEXTS * 0.5)
    drawn = [
        batches_of(e, batch_size=2, count=5, scored=4, random=generator(0, "t")) for e in (tokens, numbers)
    ]
    for one, other in zip(*drawn, strict=True):
        np.testing.assert_array_equal(one.contexts * 0.5, other.contexts[..., 0])
        assert torch.equal(one.positions, other.positions)


def test_columns_of_any_shape_come_back():
    table = {
        3: np.arange(24.0, dtype=np.float32).reshape(4, 3, 2),
        2: CONTEXTS.astype(np.uint16),
        1: np.arange(5.0),
    }
    for dims, array in table.items():
        back = as_array(pa.table({"input_ids": as_lists(array)}))
        assert back.ndim == dims
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)
        np.testing.assert_array_equal(as_array(pa.table({"input_ids": as_lists(array)})[1:3]), array[1:3])
