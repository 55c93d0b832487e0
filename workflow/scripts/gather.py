"""One dataset from its parts."""

from pathlib import Path

from rllc.job.stage import run
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.gathering import gather
from rllc.store.provenance import stamp


def main(parts: list[Path], labels: dict, output: Path) -> None:
    """Join parts along seed, distribution and step; traces are left to traces.nc."""
    dataset = gather([read_dataset(part) for part in parts], labels=labels)
    traces = [name for name in dataset.data_vars if name.startswith("trace_")]
    write_dataset(dataset.drop_vars(traces).assign_attrs(stamp()), output)


if __name__ == "__main__":
    run(main)
