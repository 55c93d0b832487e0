"""More contexts, probes or sequences at some checkpoints than at the others."""

from collections.abc import Collection


def count_at(step: int, each: int, precise: int | None, precise_at: Collection[int]) -> int:
    """Return the number of units at a checkpoint.

    each     number at other checkpoints
    precise  number at the steps ``precise_at``, if that is more; None: as many as at the others
    """
    return most(each, precise) if step in precise_at else each


def most(each: int, precise: int | None) -> int:
    """Return the largest number of units at a checkpoint."""
    return max(each, precise or 0)
