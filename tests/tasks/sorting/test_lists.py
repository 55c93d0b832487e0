import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllc.seeds import generator
from rllc.tasks.sorting.lists import draw_lists, perturbed, sorting_blocks


@given(length=st.integers(1, 6), extra=st.integers(0, 6), seed=st.integers(0, 5))
def test_lists_hold_different_numbers_and_no_two_are_alike(length, extra, seed):
    numbers = length + extra
    count = min(30, math.perm(numbers, length))
    lists = draw_lists(count, length=length, numbers=numbers, seed=seed)
    assert lists.shape == (count, length)
    assert len({tuple(row) for row in lists.tolist()}) == count
    assert all(len(set(row)) == length and set(row) <= set(range(numbers)) for row in lists.tolist())


def test_all_lists_there_are_and_not_one_more():
    found = {tuple(row) for row in draw_lists(60, length=3, numbers=5, seed=0).tolist()}
    assert found == set(permutations(range(5), 3))
    with pytest.raises(ValueError, match="there are 60 lists of 3 of 5 numbers, not 61"):
        draw_lists(61, length=3, numbers=5, seed=0)
    with pytest.raises(ValueError, match="a list of 5 different numbers needs at least 5 numbers, not 4"):
        draw_lists(1, length=5, numbers=4, seed=0)


def test_every_number_is_as_likely_everywhere():
    lists = draw_lists(20000, length=4, numbers=20, seed=1)
    counts = np.stack([np.bincount(lists[:, place], minlength=20) for place in range(4)])
    assert abs(counts - 1000).max() < 5 * math.sqrt(1000)


def test_blocks_are_a_list_the_separator_and_the_sorted_list():
    lists = draw_lists(50, length=5, numbers=9, seed=2)
    blocks = sorting_blocks(lists, numbers=9, swap=0.0, seed=0)
    assert blocks.dtype == np.uint16
    np.testing.assert_array_equal(blocks[:, :5], lists)
    assert (blocks[:, 5] == 9).all()
    assert blocks[:, 6:].tolist() == [sorted(row) for row in lists.tolist()]


def test_neighbours_are_swapped_as_often_as_the_rule_says():
    """Against the rule written out for one list at a time: the law of the outcome, all of it."""
    ordered, swap, count = [0, 1, 3, 7], 0.4, 40000

    def law(left, row, probability, table):
        if left == len(row) - 1:
            table[tuple(row)] = table.get(tuple(row), 0.0) + probability
            return table
        p = swap / (row[left + 1] - row[left])
        other = [*row[:left], row[left + 1], row[left], *row[left + 2 :]]
        return law(left + 1, other, probability * p, law(left + 1, row, probability * (1 - p), table))

    expected = law(0, ordered, 1.0, {})
    random = generator(0, "test")
    found = perturbed(np.tile(ordered, (count, 1)), swap=swap, random=random)
    seen = {}
    for row in map(tuple, found.tolist()):
        seen[row] = seen.get(row, 0) + 1
    assert set(seen) == set(expected)
    for row, probability in expected.items():
        assert abs(seen[row] - count * probability) < 5 * math.sqrt(count * probability)


def test_distributions_differ_in_the_swaps_alone():
    lists = draw_lists(200, length=6, numbers=12, seed=3)
    clean, noisy = (sorting_blocks(lists, numbers=12, swap=swap, seed=0) for swap in (0.0, 0.4))
    np.testing.assert_array_equal(clean[:, :7], noisy[:, :7])
    assert (clean != noisy).any(1).mean() > 0.5
    np.testing.assert_array_equal(clean[:, 7:], np.sort(noisy[:, 7:], 1))
