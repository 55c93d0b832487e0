"""A dataset that is made of others of its experiment."""

from collections.abc import Callable
from pathlib import Path

from rllc.job.stage import run
from rllc.store.datasets import write_dataset
from rllc.store.named import read_named
from rllc.store.provenance import attributes, stamp


def main(
    analysis: Callable,
    names: dict,
    datasets: list[Path],
    settings: dict,
    stream: int,
    code: str,
    output: Path,
) -> None:
    """Call the analysis with the datasets; ``names`` names them and the settings."""
    read, inputs = read_named(names["datasets"], datasets)
    made = analysis(read, random_seed=stream, **settings)
    facts = attributes(**{names["attribute"]: settings}, code=code, inputs=inputs)
    write_dataset(made.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
