"""One dataset from those of its parts that are finished."""

from pathlib import Path

from rllc.analysis.head_types import head_types
from rllc.job.stage import run
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.gathering import agrees, gather, whole_grid
from rllc.store.provenance import stamp


def main(
    parts: list[Path], coords: dict, made_by: dict, labels: dict, thresholds: dict, output: Path
) -> None:
    """Join the parts that this code and these settings made; heads have the types of the last checkpoint."""
    read = [read_dataset(part) for part in parts]
    kept = [part for part in read if agrees(part, made_by)]
    if not kept:
        raise ValueError(f"none of {len(read)} parts was made by the present code and settings")
    dataset = gather(kept, labels=labels)
    if thresholds:
        dataset["head_type"] = head_types(dataset, thresholds=thresholds)
    dataset = whole_grid(dataset, coords, labels)
    traces = [name for name in dataset.data_vars if name.startswith("trace_")]
    write_dataset(dataset.drop_vars(traces).assign_attrs(stamp()), output)


if __name__ == "__main__":
    run(main)
