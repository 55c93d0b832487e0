"""The statistics of one experiment: one number per seed each."""

from pathlib import Path

from rllc.analysis.statistics import summarise
from rllc.record import manifest
from rllc.record.datasets import read_dataset, write_dataset
from rllc.record.provenance import attributes
from rllc.record.stage import run


def main(statistics: dict, datasets: list[Path], names: dict, code: str, output: Path) -> None:
    """Read every statistic off the curves of the experiment's datasets, which ``names`` names in order."""
    given = dict(zip(names["datasets"], datasets, strict=True))
    made = summarise(statistics, {name: read_dataset(path) for name, path in given.items()})
    inputs = {name: manifest.sha256(path) for name, path in given.items()}
    write_dataset(made.assign_attrs(attributes(statistics=statistics, code=code, inputs=inputs)), output)


if __name__ == "__main__":
    run(main)
