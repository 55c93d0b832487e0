"""One dataset from its parts: all of them, or those that are finished."""

from collections.abc import Callable
from pathlib import Path

from rllc.job.stage import run
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.gathering import OF_TRACES, described, gather, traces_of, whole_grid, without_traces
from rllc.store.provenance import attributes, stamp


def main(
    parts: list[Path], labels: dict, row: dict, finish: Callable | None, whole: dict, output: Path
) -> None:
    """Join parts along seed, distribution and step.

    row     ``variables``: their long names, units and dims (none: as they are); ``traces``: keep the losses
            of every draw alone; ``settings`` of ``finish``, by name
    finish  makes what is added to the whole dataset; None: nothing is
    whole   the labels of the whole dataset, where parts may be missing; empty: none is
    """
    read = [read_dataset(part) for part in parts]
    if row["traces"]:  # of several measures, each with a setting of its own
        dataset = gather([traces_of(part) for part in read], labels=labels, may_differ=OF_TRACES)
    else:
        dataset = gather([without_traces(part) for part in read], labels=labels)
    if finish:
        keywords = {key: value for settings in row["settings"].values() for key, value in settings.items()}
        dataset = dataset.merge(finish(dataset, **keywords)).assign_attrs(attributes(**row["settings"]))
    dataset = described(dataset, row["variables"])
    if whole:
        dataset = whole_grid(dataset, whole, labels)
    write_dataset(dataset.assign_attrs(stamp()), output)


if __name__ == "__main__":
    run(main)
