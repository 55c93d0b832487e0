"""Sequences that make their items on access."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """A sequence that makes each item on access. A slice is a list of items."""

    @abstractmethod
    def item(self, index: int) -> T:
        """Return one item. Raises IndexError beyond the end, where iteration stops."""

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self.item(each) for each in range(*index.indices(len(self)))]
        return self.item(index)


class First(LazySequence[T]):
    """The first items of a sequence, made on access: a slice would make all of them at once."""

    def __init__(self, items: Sequence[T], count: int):
        self._items, self._count = items, min(count, len(items))

    def __len__(self) -> int:
        return self._count

    def item(self, index: int) -> T:
        if not 0 <= index < self._count:
            raise IndexError(index)
        return self._items[index]
