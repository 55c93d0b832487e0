"""A dataset that is made of others of its experiment."""

from pathlib import Path

from rllc.job.stage import by_name, run
from rllc.store.datasets import write_dataset
from rllc.store.named import read_named
from rllc.store.provenance import attributes, stamp


def main(
    analysis: str, names: dict, datasets: list[Path], settings: dict, stream: int, code: str, output: Path
) -> None:
    """Call the analysis, ``module:function``, with the datasets; ``names`` names them and the settings."""
    read, inputs = read_named(names["datasets"], datasets)
    made = by_name(analysis)(read, random_seed=stream, **settings)
    facts = attributes(**{names["attribute"]: settings}, code=code, inputs=inputs)
    write_dataset(made.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main, modules=("analysis",))
