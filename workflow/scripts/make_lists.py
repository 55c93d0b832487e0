"""Blocks of a task on numbers, training and held-out side."""

from pathlib import Path

import pyarrow as pa

from rllc.job.stage import run
from rllc.store.blocks import write_blocks
from rllc.tasks.arrow import as_lists
from rllc.tasks.sorting.lists import draw_lists, sorting_blocks
from rllc.tasks.sorting.sums import draw_sums


def main(distribution: dict, numbers: dict, stream: int, blocks: Path) -> None:
    """Draw all lists at once, so that none is on both sides; distributions differ in the swaps alone."""
    train, held_out, length = (numbers[name] for name in ("train_blocks", "held_out_blocks", "length"))
    if distribution["source"] == "lists":
        count = numbers["numbers"]
        drawn = draw_lists(train + held_out, length=length, numbers=count, seed=stream)
        swap = distribution["swap"]
        columns = {"input_ids": sorting_blocks(drawn, numbers=count, swap=swap, seed=stream)}
        scored = [length, 2 * length]
    else:
        tokens, targets = draw_sums(train + held_out, length=length, largest=numbers["largest"], seed=stream)
        columns, scored = {"input_ids": tokens, "targets": targets}, [0, length]
    table = pa.table({name: as_lists(column) for name, column in columns.items()})
    sides = {"train": table[:train], "held_out": table[train:]}
    write_blocks(blocks, sides.items(), scored=scored)


if __name__ == "__main__":
    run(main)
