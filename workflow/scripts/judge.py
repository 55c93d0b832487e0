"""The table of claims: what every claim comes to, over all experiments."""

import logging
from collections import Counter
from pathlib import Path

from rllc.claims import heads, regression, sorting, stages
from rllc.claims.claim import Experiment, claims_of, load, numbers_of
from rllc.claims.judge import judge
from rllc.claims.published import published
from rllc.claims.repeat import REPEAT
from rllc.job.stage import run
from rllc.store.datasets import write_dataset
from rllc.store.named import read_named
from rllc.store.provenance import attributes, stamp

WORKS = {"heads": heads, "stages": stages, "regression": regression, "sorting": sorting}
log = logging.getLogger("rllc")


def main(claims: dict, names: dict, datasets: list[Path], own: list[Path], code: str, output: Path) -> None:
    """Judge every claim of the works, and of the user's own files, on the experiments.

    claims  ``works`` by name, and ``experiments``: what claims may ask of each beside its curves
    names   experiment -> the names of its datasets, in the order of ``datasets``
    """
    flat = [f"{experiment}/{name}" for experiment, listed in names["datasets"].items() for name in listed]
    read, inputs = read_named(flat, datasets)
    modules = {work: WORKS[work] for work in claims["works"]} | {str(path): load(path) for path in own}
    experiments = {name: Experiment(**facts) for name, facts in claims["experiments"].items()}
    made = judge(
        [each for work, module in modules.items() for each in claims_of(module, work)],
        experiments,
        {name: {each: read[f"{name}/{each}"] for each in names["datasets"][name]} for name in experiments},
        numbers=[each for module in modules.values() for each in numbers_of(module)],
        repeat=REPEAT,
        published=published(),
        tell=log.info,
    )
    counts = Counter(made["verdict"].values.tolist())
    log.info(
        "%d claims: %s",
        made.sizes["claim"],
        ", ".join(f"{verdict} {count}" for verdict, count in counts.items()),
    )
    facts = attributes(claims=claims, code=code, inputs=inputs)
    write_dataset(made.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
