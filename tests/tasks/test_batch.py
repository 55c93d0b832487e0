import numpy as np

from rllc.seeds import generator
from rllc.tasks.batch import Examples, batches_of

CONTEXTS = np.arange(60).reshape(6, 10)


def test_next_tokens_where_nothing_else_is_said():
    (batch,) = batches_of(Examples(CONTEXTS), batch_size=6, count=1, scored=None, random=generator(0, "t"))
    assert batch.positions.tolist() == list(range(9))
    np.testing.assert_array_equal(batch.targets, batch.contexts[:, 1:])


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
