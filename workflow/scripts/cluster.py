"""Clusters of heads by their rLLC curves."""

from pathlib import Path

from rllc.analysis.clusters import cluster
from rllc.job.stage import run
from rllc.store import manifest
from rllc.store.datasets import read_dataset, write_dataset
from rllc.store.provenance import attributes, stamp


def main(rllc: Path, clustering: dict, stream: int, code: str, output: Path) -> None:
    """Cluster the rLLC curves of all heads with every algorithm and number of clusters."""
    settings = {name: value for name, value in clustering.items() if name != "distributions"}
    curves = read_dataset(rllc)["rllc"].sel(distribution=clustering["distributions"])
    made = cluster(curves, random_seed=stream, **settings)
    facts = attributes(clustering=clustering, code=code, inputs={"rllc": manifest.sha256(rllc)})
    write_dataset(made.assign_attrs(facts, **stamp()), output)


if __name__ == "__main__":
    run(main)
