"""The table of claims: what every claim comes to, over all experiments."""

from pathlib import Path

from rllc.claims.works import judge_works
from rllc.job.stage import run
from rllc.store.datasets import write_dataset
from rllc.store.named import read_named
from rllc.store.provenance import attributes, stamp


def main(claims: dict, names: dict, datasets: list[Path], own: list[Path], code: str, output: Path) -> None:
    """Judge every claim of the works, and of the user's own files, on the experiments.

    claims  ``works`` by name, and ``experiments``: what claims may ask of each beside its curves
    names   experiment -> the names of its datasets, in the order of ``datasets``
    """
    listed = {experiment: [*each] for experiment, each in names["datasets"].items()}
    read, inputs = read_named([f"{of}/{name}" for of, each in listed.items() for name in each], datasets)
    by_experiment = {of: {name: read[f"{of}/{name}"] for name in each} for of, each in listed.items()}
    made = judge_works(claims["works"], own, claims["experiments"], by_experiment)
    facts = attributes(claims=claims, code=code, inputs=inputs)
    write_dataset(made.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
