"""The statistics of one experiment: one number per seed each."""

from pathlib import Path

from rllc.analysis.statistics import summarise
from rllc.job.stage import run
from rllc.store.datasets import write_dataset
from rllc.store.named import read_named
from rllc.store.provenance import attributes


def main(statistics: dict, datasets: list[Path], names: dict, code: str, output: Path) -> None:
    """Read every statistic off the curves of the experiment's datasets, which ``names`` names in order."""
    read, inputs = read_named(names["datasets"], datasets)
    made = summarise(statistics, read)
    write_dataset(made.assign_attrs(attributes(statistics=statistics, code=code, inputs=inputs)), output)


if __name__ == "__main__":
    run(main)
