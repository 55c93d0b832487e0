"""The loss of every draw, of all kinds of component."""

from pathlib import Path

from rllc.record.datasets import read_dataset, write_dataset
from rllc.record.gathering import gather, traces_of
from rllc.record.provenance import stamp
from rllc.record.stage import run


def main(parts: list[Path], labels: dict, output: Path) -> None:
    """Join the kept traces of all parts along component, seed, distribution and step."""
    dataset = gather([traces_of(read_dataset(part)) for part in parts], labels=labels)
    write_dataset(dataset.assign_attrs(stamp()), output)


if __name__ == "__main__":
    run(main)
