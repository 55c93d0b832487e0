import numpy as np

from rllc.tasks.sorting.sums import blocks


def test_targets_say_the_sign_of_the_sum_so_far():
    tokens, scored, targets = blocks(300, length=7, largest=3, seed=0)
    assert scored.tolist() == list(range(7))
    assert tokens.shape == targets.shape == (300, 7)
    assert set(np.unique(tokens)) == set(range(7))
    for row, answers in zip(tokens.tolist(), targets.tolist(), strict=True):
        so_far = 0
        for token, answer in zip(row, answers, strict=True):
            so_far += token - 3
            assert answer == 7 + (0 if so_far < 0 else 1 if so_far == 0 else 2)
