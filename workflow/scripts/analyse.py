"""A dataset that is made of others of its experiment."""

from collections.abc import Callable
from pathlib import Path

from rllc.job.stage import run
from rllc.store.datasets import write_dataset
from rllc.store.named import read_named
from rllc.store.provenance import attributes, stamp
from rllc.vocabulary import describe


def main(
    analysis: Callable,
    names: dict,
    datasets: list[Path],
    settings: dict,
    words: dict,
    stream: int,
    code: str,
    output: Path,
) -> None:
    """Call the analysis with the datasets; ``names`` names them and the settings.

    words  long name and unit of the variables that the analysis does not describe itself
    """
    read, inputs = read_named(names["datasets"], datasets)
    made = describe(analysis(read, random_seed=stream, **settings), words)
    facts = attributes(**{names["attribute"]: settings}, code=code, inputs=inputs)
    write_dataset(made.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
