"""Sequences that make their items on access."""

import pytest

from rllc.tasks.lazy import First, LazySequence


class Squares(LazySequence[int]):
    def __init__(self):
        self.made = []

    def __len__(self):
        return 5

    def item(self, index):
        if not 0 <= index < 5:
            raise IndexError(index)
        self.made.append(index)
        return index**2


def test_first_items_are_made_on_access():
    squares = Squares()
    first = First(squares, 3)
    assert len(first) == 3 and squares.made == []
    assert list(first) == [0, 1, 4] and squares.made == [0, 1, 2]
    with pytest.raises(IndexError):
        first[3]
    assert len(First(squares, 9)) == 5
