"""Make a dataset from other datasets of its experiment."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job_settings.datasets import Analyse
from rllc.store.datasets import write_dataset
from rllc.store.named import read_named
from rllc.store.provenance import attributes, stamp
from rllc.vocabulary import describe


def main(settings: Analyse, code: str, output: Path) -> None:
    """Call the analysis with the datasets that it reads."""
    read, inputs = read_named(settings.datasets)
    made = settings.analysis.load()(read, random_seed=settings.stream, **settings.keywords)
    facts = attributes(**{settings.attribute: settings.keywords}, code=code, inputs=inputs)
    write_dataset(describe(made, settings.words).assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
