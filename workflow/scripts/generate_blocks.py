"""Blocks of a generated task, training and held-out side."""

from collections.abc import Callable
from pathlib import Path

from rllc.job.stage import run
from rllc.store.blocks import write_examples


def main(
    generator: Callable, settings: dict, train: int | None, held_out: int, stream: int, blocks: Path
) -> None:
    """Generate all at once, so that nothing that a generator makes once is on both sides."""
    every = generator((train or 0) + held_out, seed=stream, **settings)
    write_examples(blocks, every, train=train, settings=settings)


if __name__ == "__main__":
    run(main)
