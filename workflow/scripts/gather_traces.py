"""The loss of every draw, of all kinds of component."""

from pathlib import Path

from rllc.job.stage import run
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.gathering import gather, traces_of
from rllc.store.provenance import stamp


def main(parts: list[Path], labels: dict, output: Path) -> None:
    """Join the kept traces of all parts along component, seed, distribution and step."""
    dataset = gather([traces_of(read_dataset(part)) for part in parts], labels=labels)
    write_dataset(dataset.assign_attrs(stamp()), output)


if __name__ == "__main__":
    run(main)
