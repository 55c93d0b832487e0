"""Make the table of claims, with a verdict on every claim over all experiments."""

from pathlib import Path

from rllc.claims.works import judge_works
from rllc.job.stage import run
from rllc.job_settings.datasets import Judge
from rllc.store.datasets import write_dataset
from rllc.store.named import read_named
from rllc.store.provenance import attributes, stamp


def main(settings: Judge, code: str, output: Path) -> None:
    """Judge every claim of the works, and of the user's own files, on the experiments."""
    works, experiments = settings.works, settings.experiments
    files = {f"{of}/{name}": file for of, each in settings.datasets.items() for name, file in each.items()}
    read, inputs = read_named(files)
    datasets = {of: {name: read[f"{of}/{name}"] for name in each} for of, each in settings.datasets.items()}
    made = judge_works(works, settings.own, experiments, datasets)
    facts = attributes(claims={"works": works, "experiments": experiments}, code=code, inputs=inputs)
    write_dataset(made.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
