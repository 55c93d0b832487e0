"""The claims table: what every claim comes to, over all experiments."""

from pathlib import Path

import numpy as np

from rllc.analysis.claims import judge
from rllc.record import manifest
from rllc.record.datasets import read_dataset, write_dataset
from rllc.record.provenance import attributes, stamp
from rllc.record.stage import run


def main(claims: dict, summaries: list[Path], names: dict, code: str, output: Path) -> None:
    """Judge every claim by the summaries of the experiments, which ``names`` names in order, with a label."""
    given = dict(zip(names["experiments"], summaries, strict=True))
    made = judge(claims, {name: read_dataset(path) for name, path in given.items()})
    labels = [names["experiments"][name] for name in made["experiment"].values]
    made = made.assign_coords(experiment_label=("experiment", np.asarray(labels, dtype=object)))
    inputs = {name: manifest.sha256(path) for name, path in given.items()}
    facts = attributes(claims=claims, code=code, inputs=inputs)
    write_dataset(made.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
