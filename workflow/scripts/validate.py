"""Validate the estimator on one family of models with a known answer."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job_settings.validation import Validate
from rllc.store.datasets import write_dataset
from rllc.store.provenance import attributes
from rllc.validation import networks, wells

FAMILIES = {
    "quadratic": wells.quadratic,
    "potentials": wells.potentials,
    "reduced_rank": networks.reduced_rank,
    "deep_linear": networks.deep_linear,
}


def main(settings: Validate, family: str, code: str, output: Path) -> None:
    """Sample every model of the family, and write the estimates beside the exact answers."""
    found = FAMILIES[family](seed=settings.stream, **settings.keywords)
    facts = attributes(validation=settings.keywords, stream=settings.stream, code=code)
    write_dataset(found.assign_attrs(facts), output)


if __name__ == "__main__":
    run(main)
