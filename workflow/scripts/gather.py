"""Gather one dataset from its parts: all of them, or the finished ones."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job_settings.datasets import Gather
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.gathering import (
    OF_TRACES,
    described,
    gather,
    traces_of,
    whole_grid,
    with_freedom,
    without_traces,
)
from rllc.store.provenance import attributes, stamp


def main(settings: Gather, output: Path) -> None:
    """Join parts along seed, distribution and step, and add variables computed from the whole."""
    read = [read_dataset(part) for part in settings.parts]
    labels = settings.labels
    if settings.traces:  # parts of several measures, which differ in setting
        dataset = gather([traces_of(part) for part in read], labels=labels, may_differ=OF_TRACES)
    else:
        dataset = gather([without_traces(part) for part in read], labels=labels)
    if settings.finish:
        keywords = {key: value for each in settings.keywords.values() for key, value in each.items()}
        added = settings.finish.load()(dataset, **keywords)
        dataset = dataset.merge(added).assign_attrs(attributes(**settings.keywords))
    freedom = (settings.freedom, settings.precise, settings.precise_at)
    dataset = with_freedom(described(dataset, settings.variables), *freedom)
    if settings.whole:
        dataset = whole_grid(dataset, settings.whole, labels)
    write_dataset(dataset.assign_attrs(stamp()), output)


if __name__ == "__main__":
    run(main)
