"""Scores of heads over training, and each head's type at the end."""

from pathlib import Path

from rllc.analysis.head_types import head_types
from rllc.job.stage import run
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.gathering import gather
from rllc.store.provenance import attributes, stamp


def main(parts: list[Path], thresholds: dict, output: Path) -> None:
    """Join the scores of all chunks and seeds and name each head by its scores at the last checkpoint."""
    heads = gather([read_dataset(part) for part in parts], labels={})
    if thresholds:
        heads["head_type"] = head_types(heads, thresholds=thresholds)
        heads = heads.assign_attrs(attributes(head_types=thresholds))
    write_dataset(heads.assign_attrs(stamp()), output)


if __name__ == "__main__":
    run(main)
