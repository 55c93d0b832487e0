"""The claims table: what every claim comes to, over all experiments."""

from pathlib import Path

from rllc.analysis.claims import judge
from rllc.job.stage import run
from rllc.store.datasets import write_dataset
from rllc.store.named import read_named
from rllc.store.provenance import attributes, stamp


def main(claims: dict, summaries: list[Path], names: dict, code: str, output: Path) -> None:
    """Judge every claim by the summaries of the experiments, which ``names`` names in order, with a label."""
    read, inputs = read_named(names["experiments"], summaries)
    made = judge(claims, read, names["experiments"])
    facts = attributes(claims=claims, code=code, inputs=inputs)
    write_dataset(made.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
