"""Sequences whose items are made when they are asked for."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """A sequence that makes each item when it is asked for. A slice is a list of the items in it."""

    @abstractmethod
    def item(self, index: int) -> T:
        """Return one item. Raises IndexError where there is none: iteration ends there."""

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self.item(each) for each in range(*index.indices(len(self)))]
        return self.item(index)
